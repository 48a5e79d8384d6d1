# Experiment 6: whether a method that succeeds leaves its ReturnValue null, which our code reads back.
# It makes a VHDX file of 1 GB, writes to that disk alone, and removes it.
param([string]$Record = '.', [string]$Machine = '', [string]$Folder = $env:TEMP)
. "$PSScriptRoot\observe.ps1"

$storage = 'root/microsoft/windows/storage'
$file = Join-Path $Folder 'wincsi-suite-return-values.vhdx'
$failed = $false
$answers = [Collections.Generic.List[string]]::new()
function Invoke-Seen($Target, $Method, $Arguments = @{}) {
    $answer = if ($Target -is [string]) {
        Invoke-CimMethod -Namespace $storage -ClassName $Target -MethodName $Method -Arguments $Arguments
    } else {
        Invoke-CimMethod $Target -MethodName $Method -Arguments $Arguments
    }
    $code = if ($null -eq $answer.ReturnValue) { 'null' } else { $answer.ReturnValue }
    $answers.Add("$Method $code")
}
function Get-Object($Class, $Filter) { Get-CimInstance -Namespace $storage $Class -Filter $Filter }
function Invoke-Diskpart($Lines) { $Lines | diskpart | Out-Null }

Invoke-Diskpart "create vdisk file=`"$file`" maximum=1024 type=expandable", 'attach vdisk'
try {
    Invoke-Seen 'MSFT_StorageSetting' 'UpdateHostStorageCache'
    # The location of a virtual disk is its file, by which no other disk is taken.
    $number = (Get-Disk | Where-Object Location -eq $file).Number
    if ($null -eq $number) { throw "no disk has the location $file" }
    $disk = Get-Object MSFT_Disk "Number=$number"
    Invoke-Seen $disk Initialize @{ PartitionStyle = [uint16]2 }
    Invoke-Seen $disk Online
    Invoke-Seen $disk SetAttributes @{ IsReadOnly = $false }
    Invoke-Seen $disk CreatePartition @{ UseMaximumSize = $true; AssignDriveLetter = $false }
    $partition = Get-Object MSFT_Partition "DiskNumber=$number" | Where-Object Type -eq Basic
    foreach ($try in 1..100) {
        $volume = Get-CimAssociatedInstance $partition -ResultClassName MSFT_Volume
        if ($volume) { break }
        Start-Sleep -Milliseconds 100
    }
    Invoke-Seen $volume Format @{ FileSystem = 'NTFS'; Full = $false; Force = $true }
    Invoke-Seen $disk Refresh
    Invoke-Seen $partition Resize @{ Size = [uint64]$partition.Size }
    Invoke-Seen $disk Offline
} catch {
    $failed = $true
    $answers.Add("then $($_.FullyQualifiedErrorId): $($_.Exception.Message)")
} finally {
    Invoke-Diskpart "select vdisk file=`"$file`"", 'detach vdisk'
    Remove-Item $file
}
$verdict = Get-Verdict (-not ($answers -match ' null$'))
if ($failed -and $verdict -eq 'settled') { $verdict = 'not possible here' }
Write-Seen 6 $verdict ($answers -join '; ')
