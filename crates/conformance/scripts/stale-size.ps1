# Experiment 11: whether Refresh is enough after a disk grew. Of a cloud's or Hyper-V's own disk, with one NTFS
# partition whose data nobody needs:
#   .\stale-size.ps1 -DiskNumber 2     then make the disk some GB larger while the script waits
param([string]$Record = '.', [string]$Machine = '', [Parameter(Mandatory)][int]$DiskNumber)
. "$PSScriptRoot\observe.ps1"

$storage = 'root/microsoft/windows/storage'
$disk = Get-CimInstance -Namespace $storage MSFT_Disk -Filter "Number=$DiskNumber"
if ($disk.IsBoot -or $disk.IsSystem) { throw 'not on the disk of the system' }
$before = $disk.Size
Read-Host "Disk $DiskNumber has $before bytes. Make it larger, then press Enter" | Out-Null
$answers = @("after the growth $(($disk | Get-CimInstance).Size)")
$answers += "Refresh $((Invoke-CimMethod $disk -MethodName Refresh).ReturnValue), then $(($disk | Get-CimInstance).Size)"
$partition = Get-Partition -DiskNumber $DiskNumber | Where-Object Type -eq Basic | Select-Object -Last 1
function Resize-Seen($More) {
    $size = @{ Size = [uint64]($partition.Size + $More) }
    (Invoke-CimMethod $partition -MethodName Resize -Arguments $size).ReturnValue
}
$first = Resize-Seen 512MB
$answers += "Resize by 512 MB $first"
$rescan = Invoke-CimMethod -Namespace $storage -ClassName MSFT_StorageSetting -MethodName UpdateHostStorageCache
$answers += "UpdateHostStorageCache $($rescan.ReturnValue), then $(($disk | Get-CimInstance).Size)"
$answers += "Resize by 513 MB $(Resize-Seen 513MB)"
Write-Seen 11 (Get-Verdict ($first -eq 0)) "from $before; $($answers -join '; ')"
