locals {
  # Every run says how it ended, in one line.
  ended = "resource.type=\"cloud_run_job\" AND resource.labels.job_name=\"${var.name}\" AND jsonPayload.message=\"run ended\""
}

resource "google_monitoring_alert_policy" "failed" {
  project      = var.project
  display_name = "${var.name}: a run failed"
  combiner     = "OR"

  conditions {
    display_name = "a run ended with exit code 1, 2, 3 or 5"

    condition_matched_log {
      filter = "${local.ended} AND severity>=ERROR"
      label_extractors = {
        exit    = "EXTRACT(jsonPayload.exit)"
        trigger = "EXTRACT(jsonPayload.trigger)"
      }
    }
  }

  alert_strategy {
    notification_rate_limit {
      period = "3600s"
    }
    auto_close = "86400s"
  }

  documentation {
    mime_type = "text/markdown"
    content   = "A run of ${var.name} failed. What its exit code asks for is in deploy/README.md, When a night fails. The errors: severity>=ERROR in the logs of the job, their cause under jsonPayload.reason."
  }

  notification_channels = var.notification_channels
  depends_on            = [google_project_service.used]
}

resource "google_logging_metric" "succeeded" {
  project = var.project
  name    = "${replace(var.name, "-", "_")}_succeeded"
  filter  = "${local.ended} AND jsonPayload.exit=0"

  metric_descriptor {
    metric_kind = "DELTA"
    value_type  = "INT64"
  }
}

# PromQL, because the other conditions look back less than 26 hours. The metric has no points at all before the first
# run that ended well: or vector(0) makes that stale too.
resource "google_monitoring_alert_policy" "stale" {
  project      = var.project
  display_name = "${var.name}: no run ended well for ${var.stale_hours} hours"
  combiner     = "OR"

  conditions {
    display_name = "no run ended well for ${var.stale_hours} hours"

    condition_prometheus_query_language {
      query                     = "(sum(increase(logging_googleapis_com:user_${google_logging_metric.succeeded.name}{monitored_resource=\"cloud_run_job\"}[${var.stale_hours}h])) or vector(0)) < 0.5"
      duration                  = "600s"
      evaluation_interval       = "300s"
      disable_metric_validation = true # it is there only after the first such run
    }
  }

  documentation {
    mime_type = "text/markdown"
    content   = "No run of ${var.name} ended with exit code 0 for ${var.stale_hours} hours: it failed, was killed, or wasn't started. See deploy/README.md, When a night fails."
  }

  notification_channels = var.notification_channels
  depends_on            = [google_project_service.used]
}
