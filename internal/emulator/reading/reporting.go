package reading

var reporting = []Topic{}
