# What the scripts beside it share: each has the parameters Record and Machine, and calls Write-Seen.
# Observations are lines of windows.txt, the file that wincsi-conformance --record writes.

$ErrorActionPreference = 'Stop'
# The preference alone does not reach the cmdlets of modules.
$PSDefaultParameterValues = @{ '*:ErrorAction' = 'Stop' }

function Get-MachineText {
    $system = "Windows 10.0.$([Environment]::OSVersion.Version.Build)"
    if ($Machine) { "$system, $Machine" } else { $system }
}

# Verdict: settled (as assumed), contradicted, or 'not possible here'.
function Write-Seen([int]$Experiment, [string]$Verdict, [string]$Seen) {
    $text = ($Seen -replace '\s+', ' ').Trim()
    $line = "seen: $Experiment | $(Get-MachineText) | $Verdict | $text"
    Write-Output $line
    Add-Content -Path (Join-Path $Record 'windows.txt') -Value $line -Encoding Ascii
}

function Get-Verdict($IsAsAssumed) {
    if ($IsAsAssumed) { 'settled' } else { 'contradicted' }
}

# What a command of PowerShell's fails by: the id has the code.
function Get-Failure([scriptblock]$Act) {
    try { $null = & $Act; 'success' }
    catch { "$($_.FullyQualifiedErrorId): $($_.Exception.Message)" }
}
