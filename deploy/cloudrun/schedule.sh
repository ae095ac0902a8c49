#!/bin/sh
# Starts the job every morning. Needs PROJECT and REGION. The account of the scheduler may start this job, and nothing else.
set -eu
scheduler=reportferry-scheduler@$PROJECT.iam.gserviceaccount.com

gcloud run jobs add-iam-policy-binding reportferry --region="$REGION" --member="serviceAccount:$scheduler" --role=roles/run.invoker
# A tick that comes twice does no harm: leases keep two runs apart, and what is done isn't done again.
gcloud scheduler jobs create http reportferry --location="$REGION" --schedule="10 6 * * *" --time-zone=Europe/Berlin \
	--http-method=POST --uri="https://run.googleapis.com/v2/projects/$PROJECT/locations/$REGION/jobs/reportferry:run" \
	--oauth-service-account-email="$scheduler" --max-retry-attempts=3
