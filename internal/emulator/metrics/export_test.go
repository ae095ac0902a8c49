package metrics

// SkanTables are the tables of SKAdNetwork's metrics.
func SkanTables() [][]Metric { return [][]Metric{skanMetrics, skanRevenueMetrics, makeSkanRanges()} }
