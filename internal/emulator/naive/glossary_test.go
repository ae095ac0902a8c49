package naive

import (
	"fmt"
	"strings"
)

// naiveTable is the service's metrics glossary, written down a second time: slug, readable name,
// kind, and the formula of those that are derived ({p} period, {e} event, {src} source of ad
// revenue). After "=" stands what is summed over facts, where the facts' columns say it; what has
// neither is a made-up share of a column, which the emulator alone defines.
const naiveTable = `
# Overview metrics — conversion, events, revenue, cost
clicks|Clicks|count|= f.clicks
attribution_clicks|Clicks (Attribution)|count|= f.clicks
impressions|Impressions|count|= f.impressions
attribution_impressions|Impressions (Attribution)|count|= f.impressions
installs|Installs|count|= f.installs
organic_install_rate|Organic install rate|ratio|organic_installs/installs
reinstalls|Reinstalls|count|
click_cost|Click Cost|money|= CASE WHEN f.pricing=2 THEN f.spend ELSE 0 END
impression_cost|Impression Cost|money|= CASE WHEN f.pricing=3 THEN f.spend ELSE 0 END
paid_clicks|Clicks (paid)|count|= CASE WHEN f.spend>0 THEN f.clicks ELSE 0 END
paid_impressions|Impressions (paid)|count|= CASE WHEN f.spend>0 THEN f.impressions ELSE 0 END
paid_installs|Installs (paid)|count|= CASE WHEN f.spend>0 THEN f.installs ELSE 0 END
ctr|CTR|ratio|clicks/impressions
uninstalls|Uninstalls|count|
uninstall_cohort|Uninstall (Cohort)|count|= {until_now:uninstalls}
reattributions|Reattributions|count|
reattribution_reinstalls|Reattribution Reinstalls|count|
deattributions|Deattributions|count|
sessions|Sessions|count|base_sessions+installs+reattributions
events|Total Events|count|
revenue_events|Revenue events|count|
revenue|In-app revenue|money|= f.revenue
cohort_revenue|Revenue (Cohort)|money|= {until_now:revenue}
daus|Avg. DAUs|decimal|daily_users/active_days
waus|Avg. WAUs|decimal|daily_users*3/active_days
maus|Avg. MAUs|decimal|daily_users*7/active_days
kpi_daus|Avg. DAUs|decimal|daus
kpi_waus|Avg. WAUs|decimal|waus
kpi_maus|Avg. MAUs|decimal|maus
limit_ad_tracking_installs|Limit Ad Tracking Installs|count|
limit_ad_tracking_reattributions|Limit Ad Tracking Reattributions|count|
gdpr_forgets|GDPR Forgets|count|
installs_per_mile|Installs per Mille (IPM)|count|(installs*1000)/impressions
click_conversion_rate|Click Conversion Rate (CCR)|ratio|installs/clicks
impression_conversion_rate|Impression Conversion Rate (ICR)|ratio|installs/impressions
limit_ad_tracking_install_rate|Limit Ad Tracking Rate|ratio|limit_ad_tracking_installs/installs
limit_ad_tracking_reattribution_rate|Limit Ad Tracking Reattribution Rate|ratio|limit_ad_tracking_reattributions/reattributions
ad_revenue|Ad Revenue|money|= f.ad_revenue
ad_impressions|Ad Impressions|count|
ad_rpm|Ad RPM|money|(ad_revenue/ad_impressions)*1000
install_cost|Install Cost|money|= CASE WHEN f.pricing=1 THEN f.spend ELSE 0 END
event_cost|Event Cost|money|= CASE WHEN f.pricing=4 THEN f.spend ELSE 0 END
adjust_cost|Ad Spend (Attribution)|money|((install_cost+click_cost)+impression_cost)+event_cost
cost|Ad Spend|money|= {cost}
ecpc|Effective Cost per Click (eCPC)|money|cost/paid_clicks
ecpm|eCPM (Attribution)|money|(cost/paid_impressions)*1000
ecpi|eCPI (Paid Installs)|money|cost/paid_installs
ecpi_all|eCPI (All Installs)|money|cost/installs
cohort_gross_profit|Gross profit (Cohort)|money|cohort_all_revenue-cost
gross_profit|Gross profit|money|all_revenue-cost
return_on_investment|Return On Investment (ROI)|ratio|cohort_gross_profit/cost
revenue_to_cost|Revenue To Cost Ratio (RCR)|decimal|cohort_revenue/cost
roas|ROAS|ratio|(cohort_revenue+cohort_ad_revenue)/cost
roas_ad|ROAS (Ad Revenue)|ratio|cohort_ad_revenue/cost
roas_iap|ROAS (IAP Revenue)|ratio|cohort_revenue/cost
arpdau|ARPDAU (All)|money4|all_revenue/kpi_daus
arpdau_ad|ARPDAU (Ad)|money4|ad_revenue/kpi_daus
arpdau_iap|ARPDAU (IAP)|money4|revenue/kpi_daus
all_revenue|All Revenue|money|revenue+ad_revenue
cohort_all_revenue|All Revenue (Cohort)|money|cohort_revenue+cohort_ad_revenue
cohort_ad_revenue|Ad Revenue (Cohort)|money|= {until_now:ad_revenue}
base_sessions|Base Sessions|count|= f.sessions
first_reinstalls|First Reinstalls|count|
first_uninstalls|First Uninstalls|count|
organic_installs|Organic Installs|count|= d.organic*f.installs
non_organic_installs|Non-Organic Installs|count|= f.installs-d.organic*f.installs
subscriptions|Subscriptions|count|subscrevnt_activation_events
trials|Trials|count|subscrevnt_trial_started_events
subscription_revenue|Subscription Revenue|money|subscrevnt_revenue
renewals|Renewals|count|subscrevnt_renewal_events
offers|Offers|count|subscrevnt_discounted_offer_events
cancels|Cancels|count|subscrevnt_cancellation_events
# Fraud metrics
rejected_installs|Rejected Installs|count|
rejected_installs_anon_ip|Rejected Installs Anonymous IP|count|
rejected_installs_too_many_engagements|Rejected Installs Too Many Engagements|count|
rejected_installs_distribution_outlier|Rejected Installs Distribution Outlier|count|
rejected_installs_click_injection|Rejected Installs Click Injection|count|
rejected_installs_invalid_signature|Rejected Installs SDK Signature|count|
rejected_reattributions|Rejected Reattribution|count|
rejected_reattributions_anon_ip|Rejected Reattributions Anonymous IP|count|
rejected_reattributions_too_many_engagements|Rejected Reattributions Too Many Engagements|count|
rejected_reattributions_distribution_outlier|Rejected Reattributions Distribution Outlier|count|
rejected_install_rate|Rejected Install Rate|ratio|rejected_installs/(installs+rejected_installs)
rejected_install_anon_ip_rate|Rejected Installs Anonymous IP Rate|ratio|rejected_installs_anon_ip/(installs+rejected_installs)
rejected_install_too_many_engagements_rate|Rejected Installs Too Many Engagements Rate|ratio|rejected_installs_too_many_engagements/(installs+rejected_installs)
rejected_install_distribution_outlier_rate|Rejected Installs Distribution Outlier Rate|ratio|rejected_installs_distribution_outlier/(installs+rejected_installs)
rejected_install_click_injection_rate|Rejected Installs Click Injection Rate|ratio|rejected_installs_click_injection/(installs+rejected_installs)
rejected_reattribution_rate|Rejected Reattribution Rate|ratio|rejected_reattributions/(reattributions+rejected_reattributions)
rejected_reattribution_anon_ip_rate|Rejected Reattributions Anonymous IP Rate|ratio|rejected_reattributions_anon_ip/(reattributions+rejected_reattributions)
rejected_reattribution_too_many_engagements_rate|Rejected Reattributions Too Many Engagements Rate|ratio|rejected_reattributions_too_many_engagements/(reattributions+rejected_reattributions)
rejected_reattribution_distribution_outlier_rate|Rejected Reattributions Distribution Outlier Rate|ratio|rejected_reattributions_distribution_outlier/(reattributions+rejected_reattributions)
rejected_reattributions_click_injection|Rejected Reattributions Click Injection|count|
rejected_reattribution_click_injection_rate|Rejected Reattributions Click Injection Rate|ratio|rejected_reattributions_click_injection/(reattributions+rejected_reattributions)
rejected_installs_malformed_advertising_id|Rejected Installs Malformed Advertising ID|count|
rejected_install_malformed_advertising_id_rate|Rejected Install Malformed Advertising ID Rate|ratio|rejected_installs_malformed_advertising_id/(installs+rejected_installs)
rejected_install_invalid_signature_rate|Invalid Signature Rejected Install Rate|ratio|rejected_installs_invalid_signature/(installs+rejected_installs)
# Network
network_cost|Ad Spend (Network)|money|= {network_cost}
network_installs|Installs (Network)|count|
network_impressions|Impressions (Network)|count|
network_clicks|Clicks (Network)|count|
network_ctr|CTR (Network)|ratio|network_clicks/network_impressions
network_cost_diff|Ad Spend Diff (Network)|decimal|abs(network_cost-adjust_cost)
network_installs_diff|Installs Diff (Network)|count|abs(network_installs-installs)
network_ecpi|eCPI (Network)|money|network_cost/network_installs
network_ecpm|eCPM (Network)|money|(network_cost/network_impressions)*1000
network_ecpc|eCPC (Network)|money|network_cost/network_clicks
network_ad_spend_skan|Ad spend (SKAN)|money|
network_impressions_skan|Impressions (Network SKAN)|count|
network_clicks_skan|Clicks (Network SKAN)|count|
network_installs_skan|Installs (Network SKAN)|count|
network_ad_spend_non_skan|Ad Spend (Network non-SKAN)|money|
network_impressions_non_skan|Impressions (Network non-SKAN)|count|
network_clicks_non_skan|Clicks (Network non-SKAN)|count|
network_installs_non_skan|Installs (Network non-SKAN)|count|
network_ad_spend_unknown|Ad Spend (Network unknown source)|money|
network_impressions_unknown|Impressions (Network unknown source)|count|
network_clicks_unknown|Clicks (Network unknown source)|count|
network_installs_unknown|Installs (Network unknown source)|count|
skad_ecpi|eCPI (SKAN)|decimal|network_ad_spend_skan/skad_installs
ad_spend_network|Ad Spend (Network)|money|= {network_cost}
# Assist metrics
click_based_qualifiers|Assisting Clicks|count|
impression_based_qualifiers|Assisting Impressions|count|
qualifiers|Assisting Engagements|count|click_based_qualifiers+impression_based_qualifiers
assisted_installs|Assisted Installs|count|
base_assisted_installs|Assisted Installs|count|
network_assisted_installs|Assisted Installs (Network)|count|
campaign_assisted_installs|Assisted Installs (Campaign)|count|
adgroup_assisted_installs|Assisted Installs (Adgroup)|count|
creative_assisted_installs|Assisted Installs (Creative)|count|
click_based_reattribution_qualifiers|Assisting Clicks for Reattributions|count|
impression_based_reattribution_qualifiers|Assisting Impressions for Reattributions|count|
reattribution_qualifiers|Assisting Engagements for Reattributions|count|click_based_reattribution_qualifiers+impression_based_reattribution_qualifiers
assisted_reattributions|Assisted Reattributions|count|
qualifiers_per_assisted_installs|Average Engagements per Assisted Install|decimal|qualifiers/assisted_installs
impression_based_qualifiers_per_assisted_installs|Average Impressions per Assisted Install|decimal|impression_based_qualifiers/assisted_installs
click_based_qualifiers_per_assisted_installs|Average Clicks per Assisted Install|decimal|click_based_qualifiers/assisted_installs
non_assisted_installs|Non-Assisted Installs|count|installs-assisted_installs
# SKAN metrics
skad_conversion_values|Conversion Value|count|valid_conversions
skad_conversion_bits|Conversion Bit|count|conversion_1+conversion_2+conversion_3+conversion_4+conversion_5+conversion_6
skad_total_installs|Total installs (SKAd)|count|skad_installs+skad_reinstalls
skad_installs|Installs (SKAN)|count|
skad_reinstalls|Reinstalls (SKAN)|count|
skad_qualifiers|Qualifiers (SKAdNetwork)|count|
invalid_payloads|Invalid Payloads (SKAdNetwork)|count|
skad_conversion_value_null|Conversion value null|count|(skad_installs+skad_reinstalls)-valid_conversions
skad_conversion_value_null_rate|Conversion value null rate|decimal|skad_conversion_value_null/skad_total_installs
skad_conversion_value_gt_0|Conversion value greater than 0|count|valid_conversions-conversion_value_0
valid_conversions|Valid conversions|count|
conversion_value_total|Conversion Value Total (SKAdNetwork)|count|
revenue_min|Total Revenue (Min)|money|skan_total_revenue_min
revenue_max|Total Revenue (Max)|money|skan_total_revenue_max
revenue_est|Total Revenue (Average)|money|skan_total_revenue_est
skan_total_revenue_min|Total Revenue (Min)|money|
skan_total_revenue_max|Total Revenue (Max)|money|
skan_total_revenue_est|Total Revenue (Average)|money|
skad_revenue_min_roas|ROAS (SKAN minimum)|decimal|(skan_total_revenue_min*skad_installs)/(network_ad_spend_skan*valid_conversions)
skad_revenue_max_roas|ROAS (SKAN maximum)|decimal|(skan_total_revenue_max*skad_installs)/(network_ad_spend_skan*valid_conversions)
skad_revenue_est_roas|ROAS (SKAN average)|decimal|(skan_total_revenue_est*skad_installs)/(network_ad_spend_skan*valid_conversions)
skad_revenue_min_roi|ROI (SKAN minimum)|decimal|((skan_total_revenue_min*skad_installs)/(network_ad_spend_skan*valid_conversions))-1
skad_revenue_max_roi|ROI (SKAN maximum)|decimal|((skan_total_revenue_max*skad_installs)/(network_ad_spend_skan*valid_conversions))-1
skad_revenue_est_roi|ROI (SKAN average)|decimal|((skan_total_revenue_est*skad_installs)/(network_ad_spend_skan*valid_conversions))-1
skad_revenue_per_install||money|revenue_est/skad_total_installs
skad_ad_revenue_max|Ad revenue (SKAN maximum)|money|
skad_ad_revenue_est|Ad revenue (SKAN average)|money|
skad_ad_revenue_min|Ad revenue (SKAN minimum)|money|
skad_valid_conversions|Valid Conversions (SKAdNetwork)|count|valid_conversions
skad_invalid_payloads|Invalid Payloads (SKAdNetwork)|count|invalid_payloads
skad_conversion_value_total|Conversion Value Total (SKAdNetwork)|count|
skad_direct_total_installs|Direct Total Installs (SKAdNetwork)|count|skad_direct_installs+skad_direct_reinstalls
skad_direct_installs|Direct Installs (SKAdNetwork)|count|
skad_direct_reinstalls|Direct Reinstalls (SKAdNetwork)|count|
skad_direct_invalid_payloads|Direct Invalid Payloads (SKAdNetwork)|count|
skad_direct_valid_conversions|Direct Valid Conversions (SKAdNetwork)|count|
skad_direct_conversion_value_total|Direct Conversion Value Total (SKAdNetwork)|count|
skad_direct_conversion_value_gt_0|Direct Conversion Value greater than 0 (SKAdNetwork)|count|skad_direct_valid_conversions-skad_direct_conversion_value_0
skad_direct_conversion_value_null|Direct Conversion Value Null|count|(skad_direct_installs+skad_direct_reinstalls)-skad_direct_valid_conversions
# Cohort metrics
retained_users_{p}|{P} Retained Users|count|
cohort_size_{p}|{P} Cohort Size|count|= CASE WHEN {age}>={start} THEN f.installs ELSE 0 END
reattributions_{p}|{P} Reattributions|count|= {inside:reattributions}
reattributions_per_user_{p}|{P} Reattributions Per User|decimal|reattributions_{p}/cohort_size_{p}
deattributions_{p}|{P} Deattributions|count|= {inside:deattributions}
deattributions_per_user_{p}|{P} Deattributions Per User|decimal|deattributions_{p}/cohort_size_{p}
reattributions_per_deattribution_{p}|{P} Reattributions per Deattribution|decimal|reattributions_{p}/deattributions_{p}
sessions_{p}|{P} Sessions|count|non_install_sessions_{p}+install_sessions_{p}
non_install_sessions_{p}|{P} Non-Install Sessions|count|= {inside:non_install_sessions}
uninstalls_{p}|{P} Uninstalls|count|= {inside:uninstalls}
uninstalls_total_{p}|{P} Uninstalls Total|count|= {until_end:uninstalls}
first_uninstalls_{p}|{P} First Uninstalls|count|= {inside:first_uninstalls}
first_uninstalls_total_{p}|{P} First Uninstalls Total|count|= {until_end:first_uninstalls}
reinstalls_{p}|{P} Reinstalls|count|= {inside:reinstalls}
reinstalls_total_{p}|{P} Reinstalls Total|count|= {until_end:reinstalls}
first_reinstalls_{p}|{P} First Reinstalls|count|= {inside:first_reinstalls}
first_reinstalls_total_{p}|{P} First Reinstalls Total|count|= {until_end:first_reinstalls}
gdpr_forgets_{p}|{P} GDPR Forgets|count|= {inside:gdpr_forgets}
gdpr_forgets_total_{p}|{P} GDPR Forget Users Total|count|= {until_end:gdpr_forgets}
revenue_{p}|{P} Revenue|money|= {inside:revenue}
revenue_total_{p}|{P} Revenue Total|money|= {until_end:revenue}
revenue_total_in_cohort_{p}|{P} Revenue Total In Cohort|money|= CASE WHEN {age}>={start} THEN {until_end:revenue} ELSE 0 END
time_spent_{p}|{P} Time Spent|seconds|= {inside:time_spent}
paying_users_{p}|{P} Paying Users|count|
paying_user_size_{p}|{P} Paying User Size|count|
revenue_events_{p}|{P} Revenue events|count|= {inside:revenue_events}
revenue_events_total_{p}|{P} Revenue Events Total|count|= {until_end:revenue_events}
revenue_events_total_in_cohort_{p}|{P} Revenue Events Total In Cohort|count|= CASE WHEN {age}>={start} THEN {until_end:revenue_events} ELSE 0 END
retention_rate_{p}|{P} Retention|ratio|retained_users_{p}/cohort_size_{p}
sessions_per_user_{p}|{P} Sessions per users|decimal|sessions_{p}/cohort_size_{p}
revenue_per_user_{p}|{P} In-app Revenue per user|money|revenue_{p}/cohort_size_{p}
revenue_total_per_user_{p}|{P} Revenue Total Per User|money|revenue_total_{p}/cohort_size_{p}
revenue_per_paying_user_{p}|{P} All Revenue per paying user|money|revenue_{p}/paying_users_{p}
lifetime_value_{p}|{P} Lifetime Value all users (LTV)|money|all_revenue_total_in_cohort_{p}/cohort_size_{p}
lifetime_value_ad_{p}|{P} LTV (Ad) All Users|money|ad_revenue_total_in_cohort_{p}/cohort_size_{p}
lifetime_value_iap_{p}|{P} LTV (IAP) All Users|money|revenue_total_in_cohort_{p}/cohort_size_{p}
paying_user_lifetime_value_{p}|{P} Lifetime Value paying users|money|all_revenue_total_in_cohort_{p}/paying_user_size_{p}
paying_user_lifetime_value_ad_{p}|{P} LTV (Ad) Paying Users|money|ad_revenue_total_in_cohort_{p}/paying_user_size_{p}
paying_user_lifetime_value_iap_{p}|{P} LTV (IAP) Paying Users|money|revenue_total_in_cohort_{p}/paying_user_size_{p}
time_spent_per_user_{p}|{P} Time spent per user|seconds|div(time_spent_{p}, cohort_size_{p})
time_spent_per_active_user_{p}|{P} Time Spent Per Active User|seconds|div(time_spent_{p}, retained_users_{p})
time_spent_per_session_{p}|{P} Time spent per session|seconds|div(time_spent_{p}, non_install_sessions_{p})
paying_users_retention_rate_{p}|{P} Retention paying users|ratio|paying_users_{p}/retained_users_{p}
paying_user_rate_{p}|{P} Paying user rate|ratio|paying_users_{p}/cohort_size_{p}
revenue_events_per_user_{p}|{P} Revenue events per user|decimal|revenue_events_{p}/cohort_size_{p}
revenue_events_per_active_user_{p}|{P} Revenue Events Per Active User|decimal|revenue_events_{p}/retained_users_{p}
revenue_events_per_paying_user_{p}|{P} Revenue Events Per Paying User|decimal|revenue_events_{p}/paying_users_{p}
roas_{p}|{P} ROAS|ratio|all_revenue_total_{p}/cost
roas_ad_{p}|{P} ROAS (Ad Revenue)|ratio|ad_revenue_total_{p}/cost
roas_iap_{p}|{P} ROAS (IAP Revenue)|ratio|revenue_total_{p}/cost
ad_revenue_{p}|{P} Ad Revenue|money|= {inside:ad_revenue}
ad_impressions_{p}|{P} Ad Impressions|count|= {inside:ad_impressions}
ad_impressions_total_{p}|{P} Ad Impressions Total|count|= {until_end:ad_impressions}
ad_impressions_total_in_cohort_{p}|{P} Ad Impressions Total in Cohort|count|= CASE WHEN {age}>={start} THEN {until_end:ad_impressions} ELSE 0 END
ad_rpm_{p}|{P} Ad RPM|money|(ad_revenue_{p}/ad_impressions_{p})*1000
ad_revenue_total_{p}|{P} Ad Revenue Total|money|= {until_end:ad_revenue}
ad_revenue_total_in_cohort_{p}|{P} Ad Revenue Total In Cohort|money|= CASE WHEN {age}>={start} THEN {until_end:ad_revenue} ELSE 0 END
ad_revenue_total_per_user_{p}|{P} Ad Revenue Total Per User|money|ad_revenue_total_{p}/cohort_size_{p}
all_revenue_{p}|{P} All Revenue|money|revenue_{p}+ad_revenue_{p}
all_revenue_total_{p}|{P} All Revenue Total|money|ad_revenue_total_{p}+revenue_total_{p}
all_revenue_per_user_{p}|{P} All Revenue Per User|money|all_revenue_{p}/cohort_size_{p}
all_revenue_total_per_user_{p}|{P} All Revenue Total Per User|money|all_revenue_total_{p}/cohort_size_{p}
all_revenue_total_in_cohort_{p}|{P} All Revenue Total In Cohort|money|ad_revenue_total_in_cohort_{p}+revenue_total_in_cohort_{p}
first_paying_users_{p}|{P} First-Time Paying Users|count|= {inside:first_paying_users}
first_paying_users_total_{p}|{P} Total Paying Users|count|= {until_end:first_paying_users}
paying_user_conversion_rate_{p}|{P} Paying Users Conversion Rate|ratio|first_paying_users_{p}/cohort_size_{p}
first_time_paying_user_conversion_rate_{p}|{P} First-Time Paying Users Conversion Rate|ratio|first_paying_users_{p}/retained_users_{p}
cost_per_paying_user_{p}|{P} Cost per Paying User|money|cost/first_paying_users_total_{p}
# Event metrics
general_revenue_events_est|Average|count|
general_revenue_events_max|Max|count|
general_revenue_revenue_est|IAP Revenue (Average)|money|
general_revenue_revenue_max|IAP Revenue (Max)|money|
general_revenue_events_min|Min|count|
general_revenue_revenue_min|IAP Revenue (Min)|money|
iap_revenue_events_est|Average|count|general_revenue_events_est
iap_revenue_events_max|Max|count|general_revenue_events_max
iap_revenue_revenue_est|IAP Revenue (Average)|money|general_revenue_revenue_est
iap_revenue_revenue_max|IAP Revenue (Max)|money|general_revenue_revenue_max
iap_revenue_events_min|Min|count|general_revenue_events_min
iap_revenue_revenue_min|IAP Revenue (Min)|money|general_revenue_revenue_min
skad_general_events_est|Average|count|general_revenue_events_est
skad_general_events_max|Max|count|general_revenue_events_max
skad_general_revenue|IAP Revenue (Average)|money|general_revenue_revenue_est
skad_general_revenue_max|IAP Revenue (Max)|money|general_revenue_revenue_max
skad_general_events_min|Min|count|general_revenue_events_min
skad_general_revenue_min|IAP Revenue (Min)|money|general_revenue_revenue_min
{e}_{p}_events_cohort|{P} {E} (Events)|count|= {until_end:event}
{e}_{p}_revenue_cohort|{P} {E} (Revenue)|money|= {until_end:event}*xe.price
{e}_{p}_events_per_period|{P} {E} (Events per Period)|count|= {inside:event}
{e}_{p}_revenue_per_period|{P} {E} (Event Revenue per Period)|money|= {inside:event}*xe.price
{e}_{p}_conversions_cohort|{P} {E} (Conversions)|count|= {until_end:converted}
{e}_{p}_converted_user_size_cohort|{P} {E} (Converted User Size)|count|= {until_now:converted}
{e}_{p}_conversions_per_period||count|= {inside:converted}
{e}_{p}_converted_user_size_per_period||count|= {until_now:converted}
{e}_{p}_conversion_distribution_cohort|{P} {E} (Conversion Distribution)|ratio|{e}_{p}_conversions_cohort/{e}_{p}_converted_user_size_cohort
{e}_{p}_events_cost_cohort|{P} Cost per {E} (Events)|decimal|cost/{e}_{p}_events_cohort
{e}_{p}_conversions_cost_cohort|{P} Cost per {E} (Conversions)|decimal|cost/{e}_{p}_conversions_cohort
{e}_{p}_events_rate_cohort|{P} {E} Rate (Events)|ratio|{e}_{p}_events_cohort/cohort_size_{p}
{e}_{p}_conversions_rate_cohort|{P} {E} Rate (Conversions)|ratio|{e}_{p}_conversions_cohort/cohort_size_{p}
{e}_{p}_events_per_conversion_cohort|{P} {E} Events per Conversion|decimal|{e}_{p}_events_cohort/{e}_{p}_conversions_cohort
{e}_{p}_events_per_reattribution_cohort|{P} {E} per Reattribution|decimal|{e}_{p}_events_cohort/reattributions
{e}_{p}_conversions_per_reattribution_cohort|{P} {E} Conversions per Reattributions|decimal|{e}_{p}_conversions_cohort/reattributions
{e}_{p}_revenue_per_conversion_cohort|{P} {E} Revenue per Conversion|money|{e}_{p}_revenue_cohort/{e}_{p}_conversions_cohort
{e}_events|{E}|count|
{e}_revenue|{E} (In-app revenue)|money|
{e}_events_cost_noncohorted|Cost per {E} (deliverables)|money|cost/{e}_events
{e}_events_min|{E} (Min)|count|
{e}_events_max|{E} (Max)|count|
{e}_events_est|{E} (Average)|count|
{e}_revenue_min|{E} (Min Revenue)|money|
{e}_revenue_max|{E} (Max Revenue)|money|
{e}_revenue_est|{E} (Average Revenue)|money|
{e}_skad_event_conversion_rate|{E} (Conversion rate)|ratio|{e}_events_est/skad_total_installs
{e}_skan_ecpa|{E} (eCPA (SKAN))|decimal|(network_ad_spend_skan*valid_conversions)/({e}_events_est*skad_installs)
{e}_events_not_verified|{E} (Not Verified Events)|count|
{e}_revenue_not_verified|{E} (Not Verified Revenue)|money|
{e}_events_verified_passed|{E} (Verified Passed Events)|count|
{e}_revenue_verified_passed|{E} (Verified Passed Revenue)|money|
{e}_events_verified_failed|{E} (Verified Failed Events)|count|
{e}_revenue_verified_failed|{E} (Verfied Failed Revenue)|money|
{e}_events_verified_unknown|{E} (Verified Unknown Events)|count|
{e}_revenue_verified_unknown|{E} (Verified Unknown Revenue)|money|
# Added since
att_consent_rate|ATT Consent Rate|ratio|att_status_authorized/(att_status_denied+att_status_authorized)
network_installs_diff_signed||count|network_installs-installs
ecpi_network||money|network_cost/network_installs
rejected_install_malformed_advertising_id||count|rejected_installs_malformed_advertising_id
rejected_installs_malformed_advertising_id_rate||ratio|rejected_installs_malformed_advertising_id/(installs+rejected_installs)
rejected_reattributions_click_injection_rate||ratio|rejected_reattributions_click_injection/(reattributions+rejected_reattributions)
subscription_revenue_{p}||money|@subscription_%s_revenue_{p}
subscription_revenue_total_{p}||money|@subscription_%s_revenue_total_{p}
subscrevnt_revenue||money|@subscrevnt_%s_revenue
subscription_roas_{p}||ratio|subscription_revenue_total_{p}/cost
average_revenue_per_event||money|revenue/revenue_events
incremental_roas||ratio|incremental_revenue/cost
skan_total_revenue_min||money|iap_revenue_revenue_min+skad_ad_revenue_min
skan_total_revenue_est||money|iap_revenue_revenue_est+skad_ad_revenue_est
skan_total_revenue_max||money|iap_revenue_revenue_max+skad_ad_revenue_max
{e}_skan_event_ecr_min||ratio|{e}_events_min/valid_conversions
{e}_skan_event_ecr_est||ratio|{e}_events_est/valid_conversions
{e}_skan_event_ecr_max||ratio|{e}_events_max/valid_conversions
{e}_skan_event_rpu_min||money|{e}_revenue_min/valid_conversions
{e}_skan_event_rpu_est||money|{e}_revenue_est/valid_conversions
{e}_skan_event_rpu_max||money|{e}_revenue_max/valid_conversions
revenue_total_per_paying_user_{p}||money|revenue_total_{p}/first_paying_users_total_{p}
ad_revenue_total_per_paying_user_{p}||money|ad_revenue_total_{p}/first_paying_users_total_{p}
revenue_events_total_per_paying_user_{p}||decimal|revenue_events_total_{p}/first_paying_users_total_{p}
cumulative_paying_users_conversion_rate_{p}||ratio|first_paying_users_total_{p}/cohort_size_{p}
skan_ad_rpu_min||money|skad_ad_revenue_min/skad_total_installs
skan_ad_rpu_est||money|skad_ad_revenue_est/skad_total_installs
skan_ad_rpu_max||money|skad_ad_revenue_max/skad_total_installs
skan_iap_rpu_min||money|iap_revenue_revenue_min/skad_total_installs
skan_iap_rpu_est||money|iap_revenue_revenue_est/skad_total_installs
skan_iap_rpu_max||money|iap_revenue_revenue_max/skad_total_installs
skan_total_rpu_min||money|skan_total_revenue_min/valid_conversions
skan_total_rpu_est||money|skan_total_revenue_est/valid_conversions
skan_total_rpu_max||money|skan_total_revenue_max/valid_conversions
`

// naiveAdSources are the {src} of the metrics by source of ad revenue.
var naiveAdSources = []string{"unknown", "ironsource", "applovin_max", "mopub", "s2s", "admost", "admost_sdk", "admob",
	"ironsource_sdk",
	"applovin_max_sdk", "applovin_max_fb_only", "facebook_sdk", "unity_sdk", "topon", "tapjoy",
	"helium_by_chartboost_sdk", "publisher_sdk",
	"topon_sdk", "adx_sdk", "sdk_tradplus", "api_tradplus", "fyber"}

// naiveSubscriptions are what may happen to a subscription; those with true bring revenue.
var naiveSubscriptions = map[string]bool{"activation": true, "billing_retry": false, "cancellation": false,
	"discounted_offer": true,
	"expiration":       false, "first_conversion": false, "grace_period": false, "on_hold": false, "paused": false,
	"price_accepted": false,
	"price_declined": false, "reactivation": true, "renewal": true, "renewal_from_billing_retry": true, "refund": true,
	"revoked":       false,
	"trial_started": false, "unknown": true}

// naiveFormulas are all formulas, and row expressions after "= ", of the table and of the families
// that are numbered or named by a list.
func naiveFormulas(line func(slug, label, kind, formula string)) {
	for _, row := range strings.Split(strings.TrimSpace(naiveTable), "\n") {
		c := strings.SplitN(row, "|", 4)
		if len(c) < 4 {
			continue // a heading
		}
		if sum, ok := strings.CutPrefix(c[3], "@"); ok {
			var terms []string
			for name, earns := range naiveSubscriptions {
				if earns {
					terms = append(terms, strings.Replace(sum, "%s", name, 1))
				}
			}
			c[3] = strings.Join(terms, "+")
		}
		line(c[0], c[1], c[2], c[3])
	}
	for i, src := range naiveAdSources {
		line("ad_rpm_"+src, "", "money", "(ad_revenue_"+src+"/ad_impressions_"+src+")*1000")
		line("ad_revenue_"+src, "", "money", fmt.Sprintf("= CASE WHEN f.ad_source=%d THEN f.ad_revenue ELSE 0 END", i))
		line("cohort_ad_revenue_"+src, "", "money",
			fmt.Sprintf("= CASE WHEN f.ad_source=%d THEN {until_now:ad_revenue} ELSE 0 END", i))
		line("ad_revenue_"+src+"_{p}", "", "money",
			fmt.Sprintf("= CASE WHEN f.ad_source=%d THEN {inside:ad_revenue} ELSE 0 END", i))
		line("ad_impressions_"+src+"_{p}", "", "count",
			fmt.Sprintf("= CASE WHEN f.ad_source=%d THEN {inside:ad_impressions} ELSE 0 END", i))
	}
	for to := range naiveSubscriptions {
		if to == "unknown" {
			continue // only revenue is of an unknown event
		}
		total := "subscription_%s_events_total_{p}"
		line("subscription_install_to_"+to+"_rate_{p}", "", "ratio", fmt.Sprintf(total, to)+"/cohort_size_{p}")
		for from := range naiveSubscriptions {
			if from != to && from != "unknown" {
				line("subscription_"+from+"_to_"+to+"_rate_{p}", "", "ratio", fmt.Sprintf(total+"/"+total, to, from))
			}
		}
	}
	for _, prefix := range []string{"conversion_", "skad_direct_conversion_"} {
		var total []string
		for v := range 64 {
			total = append(total, fmt.Sprintf("%d*%svalue_%d", v, prefix, v))
		}
		for b := range 6 {
			var with []string
			for v := range 64 {
				if v&(1<<b) != 0 {
					with = append(with, fmt.Sprintf("%svalue_%d", prefix, v))
				}
			}
			line(fmt.Sprintf("%s%d", prefix, b+1), "", "count", strings.Join(with, "+"))
		}
		line(prefix+"value_total", "", "count", strings.Join(total, "+"))
	}
	line("skad_conversion_value_total", "", "count", "conversion_value_total")
	for v := range 64 {
		line(fmt.Sprintf("skad_conversion_value_%d", v), "", "count", fmt.Sprintf("conversion_value_%d", v))
	}
	for b := range 6 {
		line(fmt.Sprintf("skad_conversion_%d", b+1), "", "count", fmt.Sprintf("conversion_%d", b+1))
	}
}
