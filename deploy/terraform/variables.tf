variable "project" {
  description = "ID of the project that everything is made in."
  type        = string

  validation {
    condition     = can(regex("^[a-z][a-z0-9-]{4,28}[a-z0-9]$", var.project))
    error_message = "project: want a project ID, such as my-project."
  }
}

variable "region" {
  description = "Region of the job, its scheduler and the bucket, such as europe-west1."
  type        = string

  validation {
    condition     = can(regex("^[a-z]+-[a-z]+[0-9]+$", var.region))
    error_message = "region: want a region, such as europe-west1."
  }
}

variable "name" {
  description = "Name of the job, and the beginning of the names of what belongs to it."
  type        = string
  default     = "reportferry"

  validation {
    condition     = can(regex("^[a-z][a-z0-9-]{3,17}[a-z0-9]$", var.name)) # with -scheduler, an account takes 30
    error_message = "name: want 5 to 19 small letters, digits and hyphens."
  }
}

variable "image" {
  description = "Image of the program, such as europe-west1-docker.pkg.dev/my-project/reportferry/reportferry:1."
  type        = string

  validation {
    condition     = can(regex("[:@]", var.image))
    error_message = "image: want a tag or a digest, so that a night's program is known."
  }
}

variable "config_file" {
  description = "File of the config: deploy/config.yml with your project in it. It names the bucket and the dataset that are made here."
  type        = string

  validation {
    condition     = fileexists(var.config_file)
    error_message = "config_file: there is no such file."
  }
}

variable "token" {
  description = "The service's API token. It goes to Secret Manager and is not kept in the state: give it as TF_VAR_token."
  type        = string
  sensitive   = true
  ephemeral   = true

  validation {
    condition     = length(trimspace(var.token)) > 0 && trimspace(var.token) == var.token
    error_message = "token: want the token, without spaces or line ends around it."
  }
}

variable "token_version" {
  description = "Raise it by one to store another token; the next run takes it."
  type        = number
  default     = 1

  validation {
    condition     = var.token_version >= 1 && floor(var.token_version) == var.token_version
    error_message = "token_version: want a whole number from 1 on."
  }
}

variable "bucket" {
  description = "Name of the bucket of the ledger; null: the project and the name, with a hyphen between."
  type        = string
  default     = null
}

variable "dataset" {
  description = "BigQuery dataset of the tables."
  type        = string
  default     = "reportferry"

  validation {
    condition     = can(regex("^[A-Za-z0-9_]+$", var.dataset))
    error_message = "dataset: want letters, digits and underscores."
  }
}

variable "dataset_location" {
  description = "Where the dataset is, such as EU, US or europe-west1. The sinks in the config say the same."
  type        = string
  default     = "EU"
}

variable "staging" {
  description = "True when sinks in the config have staging=gs://the bucket/staging: BigQuery reads the bucket then."
  type        = bool
  default     = false
}

variable "schedule" {
  description = "When to look, as cron has it. What is missing is in the ledger, so a tick that is lost loses nothing."
  type        = string
  default     = "10 6 * * *"

  validation {
    condition     = length(split(" ", var.schedule)) == 5
    error_message = "schedule: want five fields, such as 10 6 * * *."
  }
}

variable "time_zone" {
  description = "Zone of the schedule, such as Europe/Berlin."
  type        = string
  default     = "Europe/Berlin"
}

variable "timeout_minutes" {
  description = "Minutes after which Cloud Run kills a task."
  type        = number
  default     = 60

  validation {
    condition     = var.timeout_minutes >= 10 && var.timeout_minutes <= 1440
    error_message = "timeout_minutes: want 10 to 1440."
  }
}

variable "deadline_minutes" {
  description = "Minutes after which a task stops by itself, records and releases what it holds."
  type        = number
  default     = 55

  validation {
    condition     = var.deadline_minutes >= 1 && var.deadline_minutes <= var.timeout_minutes - 3
    error_message = "deadline_minutes: want at least 3 minutes less than timeout_minutes."
  }
}

variable "memory" {
  description = "Memory of a task: the program, and the parts in /spool, because the file system is memory."
  type        = string
  default     = "1Gi"

  validation {
    condition     = can(regex("^[0-9]+(Mi|Gi)$", var.memory))
    error_message = "memory: want a size such as 512Mi or 1Gi."
  }
}

variable "stale_hours" {
  description = "Hours without a run that ended well, after which there is an alert."
  type        = number
  default     = 26

  validation {
    condition     = var.stale_hours >= 1
    error_message = "stale_hours: want at least 1."
  }
}

variable "notification_channels" {
  description = "Who hears of alerts: names of notification channels, projects/P/notificationChannels/N."
  type        = list(string)
  default     = []
}
