locals {
  bucket = coalesce(var.bucket, "${var.project}-${var.name}")

  services = [
    "bigquery.googleapis.com",
    "cloudscheduler.googleapis.com",
    "iam.googleapis.com",
    "monitoring.googleapis.com",
    "run.googleapis.com",
    "secretmanager.googleapis.com",
    "storage.googleapis.com",
  ]
}

resource "google_project_service" "used" {
  for_each = toset(local.services)

  project            = var.project
  service            = each.value
  disable_on_destroy = false # others may use it
}

resource "google_cloud_run_v2_job" "night" {
  project             = var.project
  location            = var.region
  name                = var.name
  deletion_protection = false # it holds nothing: the ledger and the tables do

  template {
    task_count = 1

    template {
      service_account = google_service_account.runner.email
      timeout         = "${var.timeout_minutes * 60}s"
      # Cloud Run tries every exit code again. One more try goes on where the first one was; the refusals that no try
      # can mend (exit codes 2 and 5) end within a second, before any call.
      max_retries = 1

      containers {
        image = var.image
        args  = ["run"]

        env {
          name  = "REPORTFERRY_DEADLINE"
          value = "${var.deadline_minutes}m"
        }
        env {
          name  = "GOOGLE_CLOUD_PROJECT"
          value = var.project
        }
        env {
          name = "ADJUST_TOKEN"
          value_source {
            secret_key_ref {
              secret  = google_secret_manager_secret.token.secret_id
              version = "latest" # the next run takes a new one
            }
          }
        }

        resources {
          limits = {
            cpu    = "1"
            memory = var.memory
          }
        }

        volume_mounts {
          name       = "config"
          mount_path = "/etc/reportferry"
        }
      }

      volumes {
        name = "config"
        secret {
          secret = google_secret_manager_secret.config.secret_id
          items {
            version = "latest" # the next run takes a new one
            path    = "config.yml"
          }
        }
      }
    }
  }

  # Cloud Run looks whether the account can read the secrets, and a version is there, when it makes the job.
  depends_on = [
    google_project_service.used,
    google_secret_manager_secret_iam_member.runner,
    google_secret_manager_secret_version.token,
    google_secret_manager_secret_version.config,
  ]
}

resource "google_cloud_scheduler_job" "morning" {
  project     = var.project
  region      = var.region
  name        = var.name
  description = "Starts the job ${var.name}."
  schedule    = var.schedule
  time_zone   = var.time_zone

  http_target {
    http_method = "POST"
    uri         = "https://run.googleapis.com/v2/${google_cloud_run_v2_job.night.id}:run"

    oauth_token {
      service_account_email = google_service_account.scheduler.email
    }
  }

  # A tick that comes twice does no harm: leases keep two runs apart, and what is done isn't done again.
  retry_config {
    retry_count          = 3
    min_backoff_duration = "30s"
  }

  depends_on = [google_cloud_run_v2_job_iam_member.scheduler]
}
