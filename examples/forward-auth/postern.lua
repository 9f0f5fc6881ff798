-- For haproxy.cfg: requests Postern's verdict. Sets txn.postern_status; 503 where there is none.
local socket = "unix@/run/postern/http.sock"

local function lines(headers, name)
  local values = {}
  local index = 0
  while headers[name] and headers[name][index] do
    values[#values + 1] = headers[name][index]
    index = index + 1
  end
  return #values > 0 and values or nil
end

local function decide(txn, api, identity)
  txn:set_var("txn.postern_status", 503)
  local sent = txn.http:req_get_headers()
  local response = core.httpclient():get({
    url = "http://postern/.postern/auth/" .. api,
    dst = socket,
    timeout = 3000, -- milliseconds, for each of four attempts
    headers = {
      ["authorization"] = lines(sent, "authorization"),
      ["dpop"] = lines(sent, "dpop"),
      ["x-forwarded-method"] = { txn.f:method() },
      ["x-forwarded-uri"] = { txn.f:pathq() },
    },
  })
  if not response or not response.status then return end
  local received = response.headers or {}
  for _, name in ipairs({ "www-authenticate", "dpop-nonce" }) do
    local values = lines(received, name)
    if values then txn:set_var("txn.postern_" .. name:gsub("-", "_"), table.concat(values, ", ")) end
  end
  local user = lines(received, identity)
  txn:set_var("txn.postern_" .. identity:gsub("-", "_"), user and user[1] or "")
  txn:set_var("txn.postern_status", response.status)
end

core.register_action("postern", { "http-req" }, decide, 2)
