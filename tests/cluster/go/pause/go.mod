module binaries/pause

go 1.24.0

tool binaries/pause
