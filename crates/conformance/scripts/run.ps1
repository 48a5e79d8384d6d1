# All that one server settles without a restart, and the one file to send: windows.txt in the folder Record.
#   .\run.ps1 -IMayChangeThisMachine -Machine 'Azure D4ds_v5'
# wincsi-conformance.exe lies beside this script. docs/windows-suite.md says what it changes.
param([string]$Record = '.', [string]$Machine = '', [switch]$IMayChangeThisMachine)

if (-not $IMayChangeThisMachine) { throw 'say -IMayChangeThisMachine if this machine may be changed' }
$both = @{ Record = $Record; Machine = $Machine }
& "$PSScriptRoot\wincsi-conformance.exe" --i-may-change-this-machine "--record=$Record" "--machine=$Machine"
$failed = $LASTEXITCODE
foreach ($script in 'page-files', 'return-values', 'disks', 'smb-class') {
    try { & "$PSScriptRoot\$script.ps1" @both } catch { Write-Output "${script}: $_" }
}
Write-Output "Send $(Join-Path (Resolve-Path $Record) 'windows.txt')."
exit $failed
