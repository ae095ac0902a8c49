package emulator

// Organic installs are never rejected: fraud steals the credit for them, and then they are a network's.
var (
	rejectedInstalls       = "((1-d.organic)*" + share("f.installs", 85_000, 197) + ")"
	rejectedReattributions = "((1-d.organic)*" + share(reattributions, 70_000, 199) + ")"
)

// The reasons add up to the rejections.
var fraudMetrics = []metricDef{
	{slug: "rejected_installs", label: "Rejected Installs", section: "Fraud", row: rejectedInstalls},
	{slug: "rejected_installs_anon_ip", label: "Rejected Installs Anonymous IP", section: "Fraud", row: part(rejectedInstalls, 0, 260_000, 223)},
	{slug: "rejected_installs_too_many_engagements", label: "Rejected Installs Too Many Engagements", section: "Fraud", row: part(rejectedInstalls, 260_000, 480_000, 223)},
	{slug: "rejected_installs_distribution_outlier", label: "Rejected Installs Distribution Outlier", section: "Fraud", row: part(rejectedInstalls, 480_000, 660_000, 223)},
	{slug: "rejected_installs_click_injection", label: "Rejected Installs Click Injection", section: "Fraud", row: part(rejectedInstalls, 660_000, 800_000, 223)},
	{slug: "rejected_installs_invalid_signature", label: "Rejected Installs SDK Signature", section: "Fraud", row: part(rejectedInstalls, 800_000, 930_000, 223)},
	{slug: "rejected_reattributions", label: "Rejected Reattribution", section: "Fraud", row: rejectedReattributions},
	{slug: "rejected_reattributions_anon_ip", label: "Rejected Reattributions Anonymous IP", section: "Fraud", row: part(rejectedReattributions, 0, 310_000, 229)},
	{slug: "rejected_reattributions_too_many_engagements", label: "Rejected Reattributions Too Many Engagements", section: "Fraud", row: part(rejectedReattributions, 310_000, 570_000, 229)},
	{slug: "rejected_reattributions_distribution_outlier", label: "Rejected Reattributions Distribution Outlier", section: "Fraud", row: part(rejectedReattributions, 570_000, 790_000, 229)},
	{slug: "rejected_install_rate", label: "Rejected Install Rate", kind: ratio, section: "Fraud", formula: "rejected_installs/(installs+rejected_installs)"},
	{slug: "rejected_install_anon_ip_rate", label: "Rejected Installs Anonymous IP Rate", kind: ratio, section: "Fraud", formula: "rejected_installs_anon_ip/(installs+rejected_installs)"},
	{slug: "rejected_install_too_many_engagements_rate", label: "Rejected Installs Too Many Engagements Rate", kind: ratio, section: "Fraud", formula: "rejected_installs_too_many_engagements/(installs+rejected_installs)"},
	{slug: "rejected_install_distribution_outlier_rate", label: "Rejected Installs Distribution Outlier Rate", kind: ratio, section: "Fraud", formula: "rejected_installs_distribution_outlier/(installs+rejected_installs)"},
	{slug: "rejected_install_click_injection_rate", label: "Rejected Installs Click Injection Rate", kind: ratio, section: "Fraud", formula: "rejected_installs_click_injection/(installs+rejected_installs)"},
	{slug: "rejected_reattribution_rate", label: "Rejected Reattribution Rate", kind: ratio, section: "Fraud", formula: "rejected_reattributions/(reattributions+rejected_reattributions)"},
	{slug: "rejected_reattribution_anon_ip_rate", label: "Rejected Reattributions Anonymous IP Rate", kind: ratio, section: "Fraud", formula: "rejected_reattributions_anon_ip/(reattributions+rejected_reattributions)"},
	{slug: "rejected_reattribution_too_many_engagements_rate", label: "Rejected Reattributions Too Many Engagements Rate", kind: ratio, section: "Fraud", formula: "rejected_reattributions_too_many_engagements/(reattributions+rejected_reattributions)"},
	{slug: "rejected_reattribution_distribution_outlier_rate", label: "Rejected Reattributions Distribution Outlier Rate", kind: ratio, section: "Fraud", formula: "rejected_reattributions_distribution_outlier/(reattributions+rejected_reattributions)"},
	{slug: "rejected_reattributions_click_injection", label: "Rejected Reattributions Click Injection", section: "Fraud", row: part(rejectedReattributions, 790_000, 1_000_000, 229)},
	{slug: "rejected_reattribution_click_injection_rate", label: "Rejected Reattributions Click Injection Rate", kind: ratio, section: "Fraud", formula: "rejected_reattributions_click_injection/(reattributions+rejected_reattributions)"},
	{slug: "rejected_installs_malformed_advertising_id", label: "Rejected Installs Malformed Advertising ID", section: "Fraud", row: part(rejectedInstalls, 930_000, 1_000_000, 223)},
	{slug: "rejected_install_malformed_advertising_id_rate", label: "Rejected Install Malformed Advertising ID Rate", kind: ratio, section: "Fraud", formula: "rejected_installs_malformed_advertising_id/(installs+rejected_installs)"},
	{slug: "rejected_install_invalid_signature_rate", label: "Invalid Signature Rejected Install Rate", kind: ratio, section: "Fraud", formula: "rejected_installs_invalid_signature/(installs+rejected_installs)"},

	// The documents spell these both ways.
	{slug: "rejected_install_malformed_advertising_id", label: "Rejected Installs Malformed Advertising ID", section: "Fraud", hidden: true, formula: "rejected_installs_malformed_advertising_id"},
	{slug: "rejected_installs_malformed_advertising_id_rate", label: "Rejected Install Malformed Advertising ID Rate", kind: ratio, section: "Fraud", hidden: true, formula: "rejected_install_malformed_advertising_id_rate"},
	{slug: "rejected_reattributions_click_injection_rate", label: "Rejected Reattributions Click Injection Rate", kind: ratio, section: "Fraud", hidden: true, formula: "rejected_reattribution_click_injection_rate"},
}
