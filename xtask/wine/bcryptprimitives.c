/*
 * bcryptprimitives.dll for Wine releases that have none (Wine 8 of Debian 12).
 *
 * Rust's standard library and Go 1.22 and later take their random bytes from this DLL's ProcessPrng.
 * Without it a program ends at once with status 53. Windows' own entry point for the same bytes,
 * SystemFunction036 (RtlGenRandom) of advapi32, is there in every Wine.
 */
#include <windows.h>

BOOLEAN NTAPI SystemFunction036(PVOID buffer, ULONG length);

__declspec(dllexport) BOOL WINAPI ProcessPrng(PBYTE buffer, SIZE_T length)
{
    while (length > 0) {
        ULONG part = length > 0x10000000 ? 0x10000000 : (ULONG)length;
        if (!SystemFunction036(buffer, part))
            return FALSE;
        buffer += part;
        length -= part;
    }
    return TRUE;
}
