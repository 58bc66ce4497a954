#!/bin/sh
# Installs missing packages; prints nothing if none is missing: `deps.sh build`, `test`, `cluster`, `dist` or `bench`.
set -eu
build='gcc make pkg-config librocksdb-dev libssl-dev libexpat1-dev libisal-dev'
test='clang libclang-rt-14-dev clang-format clang-tidy cppcheck nodejs npm curl openssl python3 smbclient libsmbclient-dev samba-testsuite python3-impacket rclone fuse3 chromium fonts-dejavu-core prometheus mmdebstrap mkdocs python3-yaml python3-azure-storage golang-go golang-github-azure-azure-storage-blob-go-dev golang-github-google-uuid-dev libcurl4-openssl-dev restic iproute2 azure-cli valgrind'
# Archives that librocksdb.a needs, and packaging tools. busybox-static (1 MB) goes into the image.
dist='libsnappy-dev libbz2-dev liblz4-dev libzstd-dev zlib1g-dev libgflags-dev python3 busybox-static xz-utils nodejs npm'
# For test/cluster: PostgreSQL and Ceph, started by the tests in private folders.
cluster='postgresql-15 postgresql-client-15 libpq5 ceph-mon ceph-mgr ceph-osd ceph-common librados2 python3-rados util-linux faketime'
# Other servers that bench/peers.mjs measures.
bench='nginx samba libsmbclient-dev openssl nodejs npm'
# For packages of arm64, and to run them and the image: the cross compiler, its libraries, an emulator, a container engine.
cross='crossbuild-essential-arm64 mmdebstrap qemu-user-static podman runc'
case ${1:-} in
build) want=$build ;;
test) want="$build $dist $test $cluster" ;;
cluster) want="$build $test $cluster" ;;
dist) want="$build $dist" ;;
bench) want="$build $bench" ;;
cross) want=$cross ;;
*) echo "usage: deps.sh build|test|cluster|dist|bench|cross" >&2; exit 2 ;;
esac
missing=
for package in $want; do
    # nodejs from elsewhere (not Debian's package) is fine if it is installed.
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
