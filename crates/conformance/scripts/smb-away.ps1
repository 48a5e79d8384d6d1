# Experiment 3: a global mapping whose server is away for a while, and one after a restart.
#   .\smb-away.ps1 -Share \\host\share                 of another machine: Windows filters no traffic to itself
#   .\smb-away.ps1 -Share \\host\share -AfterRestart   look only, after a restart, at the mapping that was left
# It blocks port 445 to that host by a firewall rule of its own for some minutes.
param([string]$Record = '.', [string]$Machine = '',
      [Parameter(Mandatory)][string]$Share, [pscredential]$Credential, [switch]$AfterRestart)
. "$PSScriptRoot\observe.ps1"

$rule = 'wincsi-suite-block-445'
function Get-Rows { @(Get-SmbGlobalMapping | Where-Object RemotePath -eq $Share) }
function Get-Status { (Get-Rows | ForEach-Object Status) -join ',' }
function New-Row { Get-Failure { New-SmbGlobalMapping -RemotePath $Share -Credential $Credential } }
function Get-Look { Get-Failure { Get-ChildItem $Share } }

# Both see a status other than OK where the mapping is lost, and Remove and New give one that is OK.
function Write-Renewal($Lost, $Before) {
    Get-Rows | Remove-SmbGlobalMapping -Force
    $renewed = New-Row
    $now = "$(Get-Status), $((Get-Rows).Count) mappings, look $(Get-Look)"
    $isAsAssumed = $Lost -and $now -eq 'OK, 1 mappings, look success'
    Write-Seen 3 (Get-Verdict $isAsAssumed) "$Before; Remove and New: $renewed, $now"
}

if (-not $Credential) { $Credential = Get-Credential -Message "a user of $Share" }
if ($AfterRestart) {
    $status = Get-Status
    $look = Get-Look
    $lost = $look -eq 'success' -or $status -ne 'OK'
    Write-Renewal $lost "after a restart: $status, look $look; New beside: $(New-Row), $((Get-Rows).Count) mappings"
    return
}

Write-Output "map: $(New-Row)"
$address = [Net.Dns]::GetHostAddresses($Share.Split('\')[2]) | ForEach-Object IPAddressToString
$null = New-NetFirewallRule -DisplayName $rule -Direction Outbound -Protocol TCP -RemotePort 445 `
    -RemoteAddress $address -Action Block
try {
    $look = Get-Look
    $end = (Get-Date).AddMinutes(10)
    while ((Get-Status) -eq 'OK' -and (Get-Date) -lt $end) { $null = Get-Look; Start-Sleep 5 }
    $away = Get-Status
    $beside = "$(New-Row), $((Get-Rows).Count) mappings"
} finally {
    Remove-NetFirewallRule -DisplayName $rule
}
Write-Renewal ($away -ne 'OK') `
    "away: look $look, $away; New beside: $beside; back: look $(Get-Look), $(Get-Status)"
