# Experiment 14: the definition of MSFT_SmbGlobalMapping. It changes nothing.
param([string]$Record = '.', [string]$Machine = '')
. "$PSScriptRoot\observe.ps1"

$class = Get-CimClass -Namespace root/microsoft/windows/smb MSFT_SmbGlobalMapping
$keys = @($class.CimClassProperties | Where-Object { $_.Flags -match 'Key' } | ForEach-Object Name | Sort-Object)
$transport = $class.CimClassMethods['Create'].Parameters['TransportType']
$words = if ($transport) { $transport.Qualifiers | ForEach-Object { "$($_.Name)=$($_.Value)" } } else { 'none' }
$properties = $class.CimClassProperties | ForEach-Object { "$($_.Name) $($_.CimType)" }
$inOrder = -not $transport -or "$words" -match 'Values=None TCP QUIC'
$isAsAssumed = "$keys" -eq 'LocalPath RemotePath' -and $inOrder
Write-Seen 14 (Get-Verdict $isAsAssumed) `
    "keys: $keys; TransportType: $($words -join ', '); properties: $($properties -join ', ')"
