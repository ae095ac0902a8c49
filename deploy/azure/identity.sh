#!/bin/sh
# The identity of the job, and what it may do: no more than is written here. Needs GROUP and NAME. Doing it twice equals doing it once.
set -eu
az identity create --name reportferry --resource-group "$GROUP"
principal=$(az identity show --name reportferry --resource-group "$GROUP" --query principalId --output tsv)
may() { az role assignment create --assignee-object-id "$principal" --assignee-principal-type ServicePrincipal --role "$1" --scope "$2"; }
group=$(az group show --name "$GROUP" --query id --output tsv)

# The ledger and the tables, in one container of blobs alone.
may "Storage Blob Data Contributor" "$group/providers/Microsoft.Storage/storageAccounts/$NAME/blobServices/default/containers/reportferry"
# The token and the config.
may "Key Vault Secrets User" "$group/providers/Microsoft.KeyVault/vaults/$NAME/secrets/reportferry-token"
may "Key Vault Secrets User" "$group/providers/Microsoft.KeyVault/vaults/$NAME/secrets/reportferry-config"
# The image.
may AcrPull "$group/providers/Microsoft.ContainerRegistry/registries/$NAME"
