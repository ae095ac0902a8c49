# The module takes nothing but a provider configured for your project: deploy/README.md, Terraform.
terraform {
  required_version = ">= 1.11" # write-only arguments, so that the token isn't in the state

  required_providers {
    google = {
      source  = "hashicorp/google"
      version = ">= 6.41, < 8"
    }
  }
}
