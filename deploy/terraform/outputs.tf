output "job" {
  description = "Name of the Cloud Run job."
  value       = google_cloud_run_v2_job.night.name
}

output "runner" {
  description = "Account of the job: what others grant it, such as another dataset, goes here."
  value       = google_service_account.runner.email
}

output "ledger" {
  description = "Where the config's ledger is."
  value       = "gs://${google_storage_bucket.ledger.name}/ledger"
}

output "sink" {
  description = "URL of the dataset as a sink."
  value       = "bigquery://${var.project}/${google_bigquery_dataset.tables.dataset_id}?location=${var.dataset_location}"
}

output "run_now" {
  description = "Command that starts the job by hand."
  value       = "gcloud run jobs execute ${google_cloud_run_v2_job.night.name} --project=${var.project} --region=${var.region} --wait"
}
