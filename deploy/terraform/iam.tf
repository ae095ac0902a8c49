# What the two accounts may do: no more than is written here. The sink waits for unfinished load jobs of earlier runs; an
# account always sees its own jobs, so nothing is needed for that as long as every run has this account.
resource "google_service_account" "runner" {
  project      = var.project
  account_id   = var.name
  display_name = "${var.name}: fetches reports"

  depends_on = [google_project_service.used]
}

resource "google_storage_bucket_iam_member" "runner" {
  bucket = google_storage_bucket.ledger.name
  role   = "roles/storage.objectUser"
  member = google_service_account.runner.member
}

# A load from a bucket reads the bucket's own record too.
resource "google_storage_bucket_iam_member" "staging" {
  count = var.staging ? 1 : 0

  bucket = google_storage_bucket.ledger.name
  role   = "roles/storage.legacyBucketReader"
  member = google_service_account.runner.member
}

# Load jobs belong to a project.
resource "google_project_iam_member" "runner" {
  project = var.project
  role    = "roles/bigquery.jobUser"
  member  = google_service_account.runner.member
}

resource "google_bigquery_dataset_iam_member" "runner" {
  project    = var.project
  dataset_id = google_bigquery_dataset.tables.dataset_id
  role       = "roles/bigquery.dataEditor"
  member     = google_service_account.runner.member
}

resource "google_secret_manager_secret_iam_member" "runner" {
  for_each = {
    token  = google_secret_manager_secret.token.secret_id
    config = google_secret_manager_secret.config.secret_id
  }

  project   = var.project
  secret_id = each.value
  role      = "roles/secretmanager.secretAccessor"
  member    = google_service_account.runner.member
}

resource "google_service_account" "scheduler" {
  project      = var.project
  account_id   = "${var.name}-scheduler"
  display_name = "${var.name}: starts the job"

  depends_on = [google_project_service.used]
}

resource "google_cloud_run_v2_job_iam_member" "scheduler" {
  project  = var.project
  location = var.region
  name     = google_cloud_run_v2_job.night.name
  role     = "roles/run.invoker"
  member   = google_service_account.scheduler.member
}
