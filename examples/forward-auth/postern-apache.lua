-- For apache.conf: requests Postern's verdict on each request.
local http = require("socket.http")
local unix = require("socket.unix")
local ltn12 = require("ltn12")

local path = "/run/postern/http.sock"
local endpoint = "http://postern/.postern/auth/orders"
local identity = { "X-User" }
local public = { ["/public/health"] = true }

-- LuaSocket's HTTP connects to host and port; this connects to the socket instead.
local function connection()
  local stream = unix.stream and unix.stream() or unix()
  return setmetatable({}, {
    __index = function(_, name)
      if name == "connect" then return function() return stream:connect(path) end end
      return function(_, ...) return stream[name](stream, ...) end
    end,
  })
end

local function is_spelling(name, of)
  return name:lower():gsub("[^a-z0-9]", "-") == of:lower()
end

function check(r)
  -- The client's identity headers, in any spelling.
  local sent = {}
  for name, value in pairs(r:headers_in_table()) do sent[name] = value end
  for name in pairs(sent) do
    for _, own in ipairs(identity) do
      if is_spelling(name, own) then r.headers_in[name] = nil end
    end
  end
  -- Or our own ones would be removed on the way to the API, as fields of one hop.
  local kept = (r.headers_in["Connection"] or ""):lower():find("close", 1, true)
  r.headers_in["Connection"] = kept and "close" or nil
  if public[r.unparsed_uri] then return apache2.OK end

  http.TIMEOUT = 5
  local done, status, headers = http.request({
    url = endpoint,
    method = "GET",
    create = connection,
    redirect = false,
    sink = ltn12.sink.null(),
    headers = {
      ["Host"] = "postern",
      ["Authorization"] = r.headers_in["Authorization"],
      ["DPoP"] = r.headers_in["DPoP"],
      ["X-Original-Method"] = r.method,
      ["X-Original-URI"] = r.unparsed_uri,
    },
  })
  if not done then
    r:err("postern: " .. tostring(status))
    return 503
  end
  if status == 200 then
    for _, name in ipairs(identity) do r.headers_in[name] = headers[name:lower()] or "" end
    return apache2.OK
  end
  if status ~= 401 and status ~= 403 then return 503 end
  r.err_headers_out["Cache-Control"] = "no-store"
  r.err_headers_out["WWW-Authenticate"] = headers["www-authenticate"]
  r.err_headers_out["DPoP-Nonce"] = headers["dpop-nonce"]
  return status
end
