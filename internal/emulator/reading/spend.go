package reading

var spend = []Topic{}
