package reading

var automation = []Topic{}
