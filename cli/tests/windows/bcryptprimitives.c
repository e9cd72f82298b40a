/* Random numbers as Rust's standard library asks Windows 10 for them. Wine before 9 has no such library: this one lies beside
   copal.exe in the tests under wine, and nowhere else. */
#include <windows.h>
#include <ntsecapi.h>

BOOL WINAPI ProcessPrng(PBYTE into, SIZE_T length)
{
    return RtlGenRandom(into, (ULONG)length);
}
