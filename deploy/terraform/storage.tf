resource "google_storage_bucket" "ledger" {
  project                     = var.project
  name                        = local.bucket
  location                    = var.region
  uniform_bucket_level_access = true
  public_access_prevention    = "enforced"
  force_destroy               = false

  # What of the ledger was deleted or written over can be had again: deploy/README.md, When a night fails.
  versioning {
    enabled = true
  }
  lifecycle_rule {
    condition {
      days_since_noncurrent_time = 30
    }
    action {
      type = "Delete"
    }
  }

  # What a killed run left on its way to BigQuery.
  lifecycle_rule {
    condition {
      age            = 2
      matches_prefix = ["staging/"]
    }
    action {
      type = "Delete"
    }
  }

  depends_on = [google_project_service.used]
}

resource "google_bigquery_dataset" "tables" {
  project                    = var.project
  dataset_id                 = var.dataset
  location                   = var.dataset_location
  description                = "Reports, one table a job, kept by ${var.name}."
  delete_contents_on_destroy = false

  depends_on = [google_project_service.used]
}

resource "google_secret_manager_secret" "token" {
  project   = var.project
  secret_id = "${var.name}-token"

  replication {
    auto {}
  }

  depends_on = [google_project_service.used]
}

resource "google_secret_manager_secret_version" "token" {
  secret                 = google_secret_manager_secret.token.id
  secret_data_wo         = var.token
  secret_data_wo_version = var.token_version

  lifecycle {
    create_before_destroy = true # a run that starts meanwhile needs one
  }
}

resource "google_secret_manager_secret" "config" {
  project   = var.project
  secret_id = "${var.name}-config"

  replication {
    auto {}
  }

  depends_on = [google_project_service.used]
}

# The config holds a reference to the token, never the token: it may be in the state.
resource "google_secret_manager_secret_version" "config" {
  secret      = google_secret_manager_secret.config.id
  secret_data = file(var.config_file)

  lifecycle {
    create_before_destroy = true # a run that starts meanwhile needs one

    precondition {
      condition     = strcontains(file(var.config_file), "ledger: gs://${google_storage_bucket.ledger.name}/")
      error_message = "The config's ledger isn't in the bucket that is made here: want ledger: gs://${local.bucket}/..."
    }
    precondition {
      condition     = strcontains(file(var.config_file), "bigquery://${var.project}/${google_bigquery_dataset.tables.dataset_id}")
      error_message = "No sink of the config is the dataset that is made here: want bigquery://${var.project}/${var.dataset}."
    }
  }
}
