#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# A run in N parts with GNU parallel, here or on hosts over ssh:
#
#   ci/campaign/parallel.sh 8 FOLDER [OPTION]...
#   HOSTS=a,b,c ci/campaign/parallel.sh 8 FOLDER [OPTION]...
#
# FOLDER is one that all hosts see, and so is the program MXORACLE names. A
# shard that a signal ended (also a host that went away) is tried again and
# goes on with its journal. The status is the number of shards not green.
set -u
export MXORACLE="${MXORACLE:-mxoracle}"
shard() # K N FOLDER OPTION...
{
    k=$1 of=$2 to=$3
    shift 3
    for attempt in 1 2 3 4 5; do
        "$MXORACLE" run --shard="$k/$of" --resume="$to/journal.$k" \
            --json="$to/run.$k.jsonl" "$@" >"$to/log.$k" 2>&1
        status=$?
        [ "$status" -gt 128 ] || return "$status"
        echo "shard $k: ended by signal $((status - 128)), attempt $attempt" >&2
    done
    return "$status"
}
if [ "${1:-}" = --one ]; then # K N FOLDER OPTION...: what parallel calls
    shift
    shard "$@"
    exit
fi
[ $# -ge 2 ] || { echo "usage: parallel.sh N FOLDER [OPTION]..." >&2; exit 2; }
n=$1
mkdir -p "$2" || exit 2
folder=$(cd "$2" && pwd)
shift 2
self=$(cd "$(dirname "$0")" && pwd)/$(basename "$0")
seq 1 "$n" | parallel ${HOSTS:+--sshlogin "$HOSTS" --env MXORACLE} --quote --will-cite \
    --jobs "${JOBS:-100%}" "$self" --one {} "$n" "$folder" "$@"
