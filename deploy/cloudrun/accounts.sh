#!/bin/sh
# The two accounts of a deployment, and what they may do: no more than is written here. Needs PROJECT. Doing it twice
# equals doing it once, but for the message that an account is there already.
set -eu
runner=reportferry@$PROJECT.iam.gserviceaccount.com

gcloud iam service-accounts describe "$runner" >/dev/null 2>&1 ||
	gcloud iam service-accounts create reportferry --display-name="reportferry: fetches reports"
gcloud iam service-accounts describe "reportferry-scheduler@$PROJECT.iam.gserviceaccount.com" >/dev/null 2>&1 ||
	gcloud iam service-accounts create reportferry-scheduler --display-name="reportferry: starts the job"

# The ledger's objects, in its bucket alone.
gcloud storage buckets add-iam-policy-binding "gs://$PROJECT-reportferry" --member="serviceAccount:$runner" --role=roles/storage.objectUser
# Load jobs, which belong to a project, and tables, in one dataset alone.
gcloud projects add-iam-policy-binding "$PROJECT" --member="serviceAccount:$runner" --role=roles/bigquery.jobUser --condition=None
bq query --use_legacy_sql=false "GRANT \`roles/bigquery.dataEditor\` ON SCHEMA \`$PROJECT.reportferry\` TO 'serviceAccount:$runner'"
# The token and the config.
for secret in reportferry-token reportferry-config; do
	gcloud secrets add-iam-policy-binding "$secret" --member="serviceAccount:$runner" --role=roles/secretmanager.secretAccessor
done
