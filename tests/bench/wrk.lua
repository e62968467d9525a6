-- wrk calls one tool over and over, and says at the end in one line of JSON what came of it.
--
--     wrk ... -s wrk.lua URL -- TOOL ARGUMENTS                  modern era: one request, made once and sent each time
--     wrk ... -s wrk.lua URL -- TOOL ARGUMENTS legacy [ID...]   legacy era: these sessions in turn, and an id of its own for
--                                                               each request (ids within a session must not repeat)
local MODERN, LEGACY = '2026-07-28', '2025-11-25'
local META = ',"_meta":{"io.modelcontextprotocol/protocolVersion":"' .. MODERN .. '",' ..
  '"io.modelcontextprotocol/clientInfo":{"name":"bench","version":"1"},"io.modelcontextprotocol/clientCapabilities":{}}'

local function headers(more)
  more['Content-Type'] = 'application/json'
  more['Accept'] = 'application/json, text/event-stream'
  return more
end

local function body(id, tool, arguments, meta)
  return '{"jsonrpc":"2.0","id":' .. id .. ',"method":"tools/call","params":{"name":"' .. tool .. '","arguments":' ..
    arguments .. meta .. '}}'
end

function init(args)
  local tool, arguments = args[1], args[2]
  if args[3] ~= 'legacy' then
    local own = headers({ ['MCP-Protocol-Version'] = MODERN, ['Mcp-Method'] = 'tools/call', ['Mcp-Name'] = tool })
    local made = wrk.format('POST', nil, own, body(100000000, tool, arguments, META))
    request = function() return made end
    return
  end
  -- Everything but the id's digits, which are always nine, is made once for each session.
  local parts = {}
  for n = 4, math.max(4, #args) do
    local own = headers({ ['MCP-Protocol-Version'] = LEGACY, ['Mcp-Session-Id'] = args[n] })
    local made = wrk.format('POST', nil, own, body('#########', tool, arguments, ''))
    local from, to = made:find('#########', 1, true)
    parts[#parts + 1] = { made:sub(1, from - 1), made:sub(to + 1) }
  end
  -- Apart from what another run on the same session sent.
  local sent = 100000000 + os.time() % 800 * 1000000
  request = function()
    sent = sent + 1
    local part = parts[sent % #parts + 1]
    return part[1] .. sent .. part[2]
  end
end

function done(summary, latency)
  local errors = summary.errors
  io.write(string.format(
    '{"requests":%d,"seconds":%.6f,"bytes":%d,"refused":%d,"broken":%d,"late":%d,"p50_us":%d,"p99_us":%d}\n',
    summary.requests, summary.duration / 1e6, summary.bytes, errors.status,
    errors.connect + errors.read + errors.write, errors.timeout, latency:percentile(50), latency:percentile(99)))
end
