# Experiment 2: what EnumPageFilesW answers. Without arguments it only looks.
#   .\page-files.ps1                look, with the page file that there is
#   .\page-files.ps1 -Remove        take the page files away; restart the server, then look again
#   .\page-files.ps1 -Restore       let Windows manage them again; restart the server
param([string]$Record = '.', [string]$Machine = '', [switch]$Remove, [switch]$Restore)
. "$PSScriptRoot\observe.ps1"

if ($Remove -or $Restore) {
    $computer = Get-CimInstance Win32_ComputerSystem
    Set-CimInstance $computer -Property @{ AutomaticManagedPagefile = [bool]$Restore }
    if ($Remove) { Get-CimInstance Win32_PageFileSetting | Remove-CimInstance }
    Write-Output 'Restart the server, then run this script without arguments.'
    return
}

Add-Type @'
using System;
using System.Collections.Generic;
using System.Runtime.InteropServices;
public static class PageFiles {
    delegate bool Callback(IntPtr context, IntPtr information, IntPtr name);
    [DllImport("psapi", SetLastError = true)]
    static extern bool EnumPageFilesW(Callback callback, IntPtr context);
    public static string Look() {
        var names = new List<string>();
        Callback note = (context, information, name) => {
            names.Add(name == IntPtr.Zero ? "null" : "[" + Marshal.PtrToStringUni(name) + "]");
            return true;
        };
        bool done = EnumPageFilesW(note, IntPtr.Zero);
        int code = Marshal.GetLastWin32Error();
        return "EnumPageFilesW " + done + ", code " + code + ", names: " + string.Join(" ", names);
    }
}
'@
$seen = [PageFiles]::Look()
$used = @(Get-CimInstance Win32_PageFileUsage | ForEach-Object Name)
$manager = 'HKLM:\SYSTEM\CurrentControlSet\Control\Session Manager\Memory Management'
$existing = (Get-ItemProperty $manager).ExistingPageFiles -join ' '
$named = $seen -match '^EnumPageFilesW True' -and $seen -notmatch 'null|\[\]|\[\\Device'
$none = $seen -match '^EnumPageFilesW True.*names: (null|\[\])$' -and -not $existing
$isAsAssumed = $named -or $none
Write-Seen 2 (Get-Verdict $isAsAssumed) "$seen; Win32_PageFileUsage: $used; ExistingPageFiles: $existing"
