# Experiments 10 and 18: what the machine's disks are called. It changes nothing, so that it may run on a cluster
# node, a VMware guest or an Azure node with 17 NVMe disks where the suite may not.
param([string]$Record = '.', [string]$Machine = '')
. "$PSScriptRoot\observe.ps1"

Add-Type @'
using System;
using System.Runtime.InteropServices;
public static class Device {
    [DllImport("kernel32", CharSet = CharSet.Unicode, SetLastError = true)]
    static extern IntPtr CreateFileW(
        string name, uint access, uint share, IntPtr security, uint how, uint flags, IntPtr other);
    [DllImport("kernel32", SetLastError = true)]
    static extern bool DeviceIoControl(
        IntPtr device, uint code, IntPtr input, int inputLength, byte[] output, int length,
        out int returned, IntPtr overlapped);
    [DllImport("kernel32")]
    static extern bool CloseHandle(IntPtr handle);
    // IOCTL_STORAGE_GET_DEVICE_NUMBER, on a handle without rights: type, number, partition.
    public static string Number(string path) {
        IntPtr device = CreateFileW(path, 0, 3, IntPtr.Zero, 3, 0, IntPtr.Zero);
        if (device == new IntPtr(-1)) return "fails with " + Marshal.GetLastWin32Error();
        try {
            var answer = new byte[12];
            int returned;
            bool done = DeviceIoControl(
                device, 0x2D1080, IntPtr.Zero, 0, answer, 12, out returned, IntPtr.Zero);
            if (done) return BitConverter.ToInt32(answer, 4).ToString();
            return "is open and has no number: " + Marshal.GetLastWin32Error();
        } finally { CloseHandle(device); }
    }
}
'@
$policy = (Get-StorageSetting).NewDiskPolicy
$storage = 'root/microsoft/windows/storage'
$disks = @(Get-CimInstance -Namespace $storage MSFT_Disk)
$opened = $disks | ForEach-Object { "Number $($_.Number), $($_.Path) opens $([Device]::Number($_.Path))" }
$wrong = @($disks | Where-Object { [Device]::Number($_.Path) -ne "$($_.Number)" })
$numberless = @(Get-CimInstance -Namespace $storage MSFT_Partition | Where-Object { $null -eq $_.DiskNumber })
$isAsAssumed = -not $wrong -and -not $numberless
Write-Seen 10 (Get-Verdict $isAsAssumed) "$($opened -join '; '); $($numberless.Count) partitions without DiskNumber"

foreach ($disk in $disks) {
    $partitions = Get-CimInstance -Namespace $storage MSFT_Partition -Filter "DiskNumber=$($disk.Number)"
    $shown = @($disk) + @($partitions) | ForEach-Object {
        $_.CimInstanceProperties | ForEach-Object { "$($_.Name)=$($_.Value)" }
    }
    # An NVMe disk's number is in its path; a location that drivers can use has five parts.
    $isAsAssumed = @($disk.Location -split ':').Count -ge 5 -and
        ($disk.BusType -ne 17 -or $disk.Path -match '&[0-9a-f]{6}#')
    Write-Seen 18 (Get-Verdict $isAsAssumed) "NewDiskPolicy=$policy, $($shown -join ', ')"
}
