# The bursts of each user, for jq -nc: sorts the whole log by user, and keeps it in memory.
[inputs] | group_by(.userB)[]
| reduce .[] as $e ([];
    if length > 0 and $e.timestamp - .[-1].to < 300
    then .[-1] |= (.events += 1 | .to = $e.timestamp | .kinds[$e.interaction] = 1)
    else . + [{user: $e.userB, events: 1, from: $e.timestamp, to: $e.timestamp,
               kinds: {($e.interaction): 1}}]
    end)
| .[] | .kinds |= length
