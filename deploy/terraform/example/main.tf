# A root module of your own. In a repository of its own, name a commit of this one:
#   source = "git::https://github.com/reportferry/reportferry.git//deploy/terraform?ref=COMMIT"
terraform {
  required_version = ">= 1.11"
}

provider "google" {
  project = var.project
  region  = "europe-west1"
}

variable "project" {
  description = "ID of the project."
  type        = string
}

variable "token" {
  description = "The service's API token: TF_VAR_token."
  type        = string
  sensitive   = true
  ephemeral   = true
}

module "reportferry" {
  source = "../"

  project     = var.project
  region      = "europe-west1"
  image       = "europe-west1-docker.pkg.dev/${var.project}/reportferry/reportferry:1"
  config_file = "${path.root}/my.yml"
  token       = var.token

  notification_channels = [google_monitoring_notification_channel.mail.id]
}

resource "google_monitoring_notification_channel" "mail" {
  display_name = "data team"
  type         = "email"
  labels       = { email_address = "data@example.com" }
}

output "run_now" {
  description = "Command that starts the job by hand."
  value       = module.reportferry.run_now
}
