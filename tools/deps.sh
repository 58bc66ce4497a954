#!/bin/sh
# Installs what is missing, and says nothing when all is there: `deps.sh build`, `deps.sh test` or `deps.sh dist`.
set -eu
build='gcc make pkg-config librocksdb-dev libssl-dev libexpat1-dev libisal-dev'
test='clang libclang-rt-14-dev clang-format clang-tidy cppcheck nodejs npm curl openssl python3 smbclient libsmbclient-dev samba-testsuite python3-impacket rclone chromium fonts-dejavu-core prometheus mmdebstrap mkdocs python3-yaml python3-azure-storage golang-go golang-github-azure-azure-storage-blob-go-dev golang-github-google-uuid-dev libcurl4-openssl-dev restic iproute2'
# Archives that librocksdb.a needs, and what packages are made with. busybox-static (1 MB) goes into the image.
dist='libsnappy-dev libbz2-dev liblz4-dev libzstd-dev zlib1g-dev libgflags-dev python3 busybox-static xz-utils nodejs npm'
case ${1:-} in
build) want=$build ;;
test) want="$build $dist $test" ;;
dist) want="$build $dist" ;;
*) echo "usage: deps.sh build|test|dist" >&2; exit 2 ;;
esac
missing=
for package in $want; do
    # nodejs from elsewhere (not Debian's package) is fine when it is there.
    case $package in nodejs | npm) command -v "${package%js}" >/dev/null && continue ;; esac
    dpkg-query -W -f '${Status}' "$package" 2>/dev/null | grep -q 'ok installed' || missing="$missing $package"
done
if [ -n "$missing" ]; then
    sudo=
    [ "$(id -u)" -eq 0 ] || sudo=sudo
    echo "installing:$missing"
    $sudo apt-get update -qq
    # shellcheck disable=SC2086
    $sudo env DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends $missing >/dev/null
fi
