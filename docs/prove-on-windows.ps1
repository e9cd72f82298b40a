# Shows on a real Windows what wine cannot show (docs/cli.md, "What is unproven on Windows?").
#
#   powershell -ExecutionPolicy Bypass -File prove-on-windows.ps1 -Copal C:\path\to\copal.exe
#
# Works below a new directory in %TEMP% and deletes it. Symbolic links need developer mode or an administrator.
param([Parameter(Mandatory)] [string] $Copal)
$ErrorActionPreference = 'Stop'
$work = Join-Path $env:TEMP ("copal-proof-" + [guid]::NewGuid().ToString('N'))
$source = Join-Path $work 'source'
$back = Join-Path $work 'back'
New-Item -ItemType Directory $source | Out-Null
$env:COPAL_PASSWORD = 'a passphrase for this proof'
$env:COPAL_REPOSITORY = Join-Path $work 'repository'
$env:COPAL_STATE_DIR = Join-Path $work 'state'
$env:COPAL_CACHE_DIR = Join-Path $work 'cache'
$failed = 0

function Say([string] $what, [bool] $holds) {
    if ($holds) { Write-Output "proven  $what" } else { Write-Output "FAILED  $what"; $script:failed++ }
}

function Run {
    & $Copal @args | Out-Host
    return $LASTEXITCODE
}

try {
    # Creating without replacing: init lets 8 threads race for one name, and refuses a file system where two win.
    Say 'a name is never replaced (the race of init)' ((Run init) -eq 0)

    # A tree of what Windows has.
    Set-Content (Join-Path $source 'file') 'text'
    New-Item -ItemType Directory (Join-Path $source 'directory') | Out-Null
    Set-Content (Join-Path $source 'directory\inside') 'text'
    New-Item -ItemType HardLink (Join-Path $source 'second name') -Target (Join-Path $source 'file') | Out-Null
    New-Item -ItemType Junction (Join-Path $source 'junction') -Target (Join-Path $source 'directory') | Out-Null
    $links = $true
    try {
        New-Item -ItemType SymbolicLink (Join-Path $source 'link to file') -Target 'file' | Out-Null
        New-Item -ItemType SymbolicLink (Join-Path $source 'link to directory') -Target 'directory' | Out-Null
    } catch { $links = $false; Write-Output 'left out: symbolic links need developer mode or an administrator' }
    $hidden = Get-Item (Join-Path $source 'file')
    $hidden.CreationTimeUtc = [datetime]::new(2020, 1, 2, 3, 4, 5, 'Utc')
    $hidden.Attributes = 'Hidden, ReadOnly, Archive'
    $sparse = Join-Path $source 'sparse'
    fsutil file createnew $sparse 0 | Out-Null
    fsutil sparse setflag $sparse | Out-Null
    $stream = [IO.File]::OpenWrite($sparse)
    $stream.SetLength(64MB); $stream.Seek(-1, 'End') | Out-Null; $stream.WriteByte(1); $stream.Close()
    $long = $source
    1..12 | ForEach-Object { $long = Join-Path $long ('a directory with a long name ' + $_) }
    [IO.Directory]::CreateDirectory("\\?\$long") | Out-Null
    [IO.File]::WriteAllText("\\?\$long\file", 'far below')

    Say 'a backup' ((Run backup $source) -eq 0)
    $place = 'latest:' + $source.Replace(':', '').Replace('\', '/')
    Say 'a restore' ((Run restore $place --target $back) -eq 0)
    Say 'content' ((Get-Content (Join-Path $back 'directory\inside')) -eq 'text')
    Say 'a long path' ([IO.File]::ReadAllText("\\?\$($long.Replace($source, $back))\file") -eq 'far below')
    $restored = Get-Item -Force (Join-Path $back 'file')
    Say 'creation time' ($restored.CreationTimeUtc -eq $hidden.CreationTimeUtc)
    Say 'attributes' ($restored.Attributes -eq $hidden.Attributes)
    Say 'hard links' (@(fsutil hardlink list (Join-Path $back 'file')).Count -eq 2)
    $junction = Get-Item (Join-Path $back 'junction')
    Say 'a junction comes back as a link to its directory' ($junction.LinkType -and (Test-Path (Join-Path $back 'junction\inside')))
    if ($links) {
        Say 'a link to a file' ((Get-Item (Join-Path $back 'link to file')).Target -eq 'file')
        Say 'a link to a directory' ((Get-Item (Join-Path $back 'link to directory')).PSIsContainer)
    }
    $ranges = fsutil sparse queryrange (Join-Path $back 'sparse')
    Say 'holes stay holes' (-not ($ranges -match 'Offset: 0x0 '))

    # Deletion of what somebody else has open.
    $pack = Get-ChildItem -Recurse -File (Join-Path $env:COPAL_REPOSITORY 'packs') | Select-Object -First 1
    $share = [IO.FileShare]::ReadWrite -bor [IO.FileShare]::Delete
    $open = [IO.File]::Open($pack.FullName, 'Open', 'Read', $share)
    $map = [IO.MemoryMappedFiles.MemoryMappedFile]::CreateFromFile($open, $null, 0, 'Read', 'None', $true)
    Say 'forget and prune, while a pack is open and mapped' `
        ((Run forget --keep-last 1) -eq 0 -and (Run prune --grace 0s) -eq 0)
    $map.Dispose(); $open.Dispose()
    Say 'a check of all data' ((Run check --read-data) -eq 0)

    # Ctrl-C is sent by hand: a script that sends it to a group ends itself.
    Write-Output 'by hand: run "copal backup" of a large directory, press Ctrl-C once: it ends within 10 seconds, and says what is kept'
    Write-Output 'by hand: run "copal init" without COPAL_PASSWORD: it asks twice, and shows nothing of what is typed'
} finally {
    Remove-Item -Recurse -Force "\\?\$work" -ErrorAction SilentlyContinue
    Remove-Item Env:COPAL_PASSWORD, Env:COPAL_REPOSITORY, Env:COPAL_STATE_DIR, Env:COPAL_CACHE_DIR
}
if ($failed) { Write-Output "$failed failed"; exit 1 }
Write-Output 'all proven'
