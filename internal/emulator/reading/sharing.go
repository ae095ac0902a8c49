package reading

var sharing = []Topic{}
