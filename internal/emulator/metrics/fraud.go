package metrics

// Organic installs are never rejected: fraud steals the credit for them, and then they are a
// network's.
var (
	rejectedInstalls       = "((1-d.organic)*" + share("f.installs", 85_000, 197) + ")"
	rejectedReattributions = "((1-d.organic)*" + share(reattributions, 70_000, 199) + ")"
)

// fraudMetrics count rejections. The counts by reason add up to all rejections.
var fraudMetrics = []Metric{
	{Slug: "rejected_installs", Label: "Rejected Installs", Section: "Fraud", Row: rejectedInstalls},
	{Slug: "rejected_installs_anon_ip", Label: "Rejected Installs Anonymous IP", Section: "Fraud",
		Row: part(rejectedInstalls, 0, 260_000, 223)},
	{Slug: "rejected_installs_too_many_engagements", Label: "Rejected Installs Too Many Engagements", Section: "Fraud",
		Row: part(rejectedInstalls, 260_000, 480_000, 223)},
	{Slug: "rejected_installs_distribution_outlier", Label: "Rejected Installs Distribution Outlier", Section: "Fraud",
		Row: part(rejectedInstalls, 480_000, 660_000, 223)},
	{Slug: "rejected_installs_click_injection", Label: "Rejected Installs Click Injection", Section: "Fraud",
		Row: part(rejectedInstalls, 660_000, 800_000, 223)},
	{Slug: "rejected_installs_invalid_signature", Label: "Rejected Installs SDK Signature", Section: "Fraud",
		Row: part(rejectedInstalls, 800_000, 930_000, 223)},
	{Slug: "rejected_reattributions", Label: "Rejected Reattribution", Section: "Fraud", Row: rejectedReattributions},
	{Slug: "rejected_reattributions_anon_ip", Label: "Rejected Reattributions Anonymous IP", Section: "Fraud",
		Row: part(rejectedReattributions, 0, 310_000, 229)},
	{Slug: "rejected_reattributions_too_many_engagements", Label: "Rejected Reattributions Too Many Engagements",
		Section: "Fraud", Row: part(rejectedReattributions, 310_000, 570_000, 229)},
	{Slug: "rejected_reattributions_distribution_outlier", Label: "Rejected Reattributions Distribution Outlier",
		Section: "Fraud", Row: part(rejectedReattributions, 570_000, 790_000, 229)},
	{Slug: "rejected_install_rate", Label: "Rejected Install Rate", Kind: Ratio, Section: "Fraud",
		Formula: "rejected_installs/(installs+rejected_installs)"},
	{Slug: "rejected_install_anon_ip_rate", Label: "Rejected Installs Anonymous IP Rate", Kind: Ratio, Section: "Fraud",
		Formula: "rejected_installs_anon_ip/(installs+rejected_installs)"},
	{Slug: "rejected_install_too_many_engagements_rate", Label: "Rejected Installs Too Many Engagements Rate",
		Kind: Ratio, Section: "Fraud", Formula: "rejected_installs_too_many_engagements/(installs+rejected_installs)"},
	{Slug: "rejected_install_distribution_outlier_rate", Label: "Rejected Installs Distribution Outlier Rate",
		Kind: Ratio, Section: "Fraud", Formula: "rejected_installs_distribution_outlier/(installs+rejected_installs)"},
	{Slug: "rejected_install_click_injection_rate", Label: "Rejected Installs Click Injection Rate", Kind: Ratio,
		Section: "Fraud", Formula: "rejected_installs_click_injection/(installs+rejected_installs)"},
	{Slug: "rejected_reattribution_rate", Label: "Rejected Reattribution Rate", Kind: Ratio, Section: "Fraud",
		Formula: "rejected_reattributions/(reattributions+rejected_reattributions)"},
	{Slug: "rejected_reattribution_anon_ip_rate", Label: "Rejected Reattributions Anonymous IP Rate", Kind: Ratio,
		Section: "Fraud", Formula: "rejected_reattributions_anon_ip/(reattributions+rejected_reattributions)"},
	{Slug: "rejected_reattribution_too_many_engagements_rate",
		Label: "Rejected Reattributions Too Many Engagements Rate", Kind: Ratio, Section: "Fraud",
		Formula: "rejected_reattributions_too_many_engagements/(reattributions+rejected_reattributions)"},
	{Slug: "rejected_reattribution_distribution_outlier_rate",
		Label: "Rejected Reattributions Distribution Outlier Rate", Kind: Ratio, Section: "Fraud",
		Formula: "rejected_reattributions_distribution_outlier/(reattributions+rejected_reattributions)"},
	{Slug: "rejected_reattributions_click_injection", Label: "Rejected Reattributions Click Injection",
		Section: "Fraud", Row: part(rejectedReattributions, 790_000, 1_000_000, 229)},
	{Slug: "rejected_reattribution_click_injection_rate", Label: "Rejected Reattributions Click Injection Rate",
		Kind: Ratio, Section: "Fraud",
		Formula: "rejected_reattributions_click_injection/(reattributions+rejected_reattributions)"},
	{Slug: "rejected_installs_malformed_advertising_id", Label: "Rejected Installs Malformed Advertising ID",
		Section: "Fraud", Row: part(rejectedInstalls, 930_000, 1_000_000, 223)},
	{Slug: "rejected_install_malformed_advertising_id_rate", Label: "Rejected Install Malformed Advertising ID Rate",
		Kind: Ratio, Section: "Fraud",
		Formula: "rejected_installs_malformed_advertising_id/(installs+rejected_installs)"},
	{Slug: "rejected_install_invalid_signature_rate", Label: "Invalid Signature Rejected Install Rate", Kind: Ratio,
		Section: "Fraud", Formula: "rejected_installs_invalid_signature/(installs+rejected_installs)"},

	// The documents spell these both ways.
	{Slug: "rejected_install_malformed_advertising_id", Label: "Rejected Installs Malformed Advertising ID",
		Section: "Fraud", Hidden: true, Formula: "rejected_installs_malformed_advertising_id"},
	{Slug: "rejected_installs_malformed_advertising_id_rate", Label: "Rejected Install Malformed Advertising ID Rate",
		Kind: Ratio, Section: "Fraud", Hidden: true, Formula: "rejected_install_malformed_advertising_id_rate"},
	{Slug: "rejected_reattributions_click_injection_rate", Label: "Rejected Reattributions Click Injection Rate",
		Kind: Ratio, Section: "Fraud", Hidden: true, Formula: "rejected_reattribution_click_injection_rate"},
}
