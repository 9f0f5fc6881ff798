import SessionRecords

/// Scripts that run in the server, each as one atomic step.
///
/// A record is a hash: `o` uid, `v` version, `e` expiry in milliseconds or empty, `k` the id of its key, `n` seal,
/// `c` contents, `f` fence. Numbers are compared as text, since Lua's have 53 bits. `insert` and `replace` know their
/// own seal again, which holds a random nonce: repeating one after a lost answer is safe.
enum RedisScript {
  /// KEYS store, key ids. ARGV new salt. The salt and the format. Writes only into a store that has none: a server that
  /// takes no writes can be read from.
  static let begin = """
    local facts = redis.call('HMGET', KEYS[1], 'salt', 'format')
    if facts[1] and facts[2] then return facts end
    redis.call('HSETNX', KEYS[1], 'salt', ARGV[1])
    redis.call('HSETNX', KEYS[1], 'format', '1')
    return redis.call('HMGET', KEYS[1], 'salt', 'format')
    """

  /// KEYS key ids. ARGV the ids of our keys, the current one first. 0 when the store was written with others. Writes
  /// only what is new.
  static let introduce = """
    if redis.call('SISMEMBER', KEYS[1], ARGV[1]) == 1 then return 1 end
    local known = redis.call('SCARD', KEYS[1]) == 0
    for _, id in ipairs(ARGV) do
      if redis.call('SISMEMBER', KEYS[1], id) == 1 then known = true end
    end
    if not known then return 0 end
    redis.call('SADD', KEYS[1], ARGV[1])
    return 1
    """

  /// ARGV uid, version, expiry, key id, seal, contents, time to live, score, member, id.
  private static let write = """
    redis.call('HSET', KEYS[1], 'o', ARGV[1], 'v', ARGV[2], 'e', ARGV[3], 'k', ARGV[4], 'n', ARGV[5], 'c', ARGV[6])
    if ARGV[7] == '' then redis.call('PERSIST', KEYS[1]) else redis.call('PEXPIREAT', KEYS[1], ARGV[7]) end
    redis.call('ZADD', KEYS[2], ARGV[8], ARGV[9])
    redis.call('SADD', KEYS[3], ARGV[10])
    if not redis.call('ZSCORE', KEYS[4], ARGV[10]) then
      redis.call('ZADD', KEYS[4], redis.call('INCR', KEYS[5]), ARGV[10])
    end
    return 1 + freed
    """

  /// Adds the growth of the uid's records to the bytes written, unless that exceeds the limit. The number only grows,
  /// so that a sum of the records remains valid up to it: see `KnownRemovals`.
  ///
  /// `missing` records and what exceeds the limit make room for the write: the uid's oldest ones under `prefix`, none
  /// where that is empty, of which those that the server has forgotten are the first to go.
  private static let count = """
    local over = 0
    if growth > 0 and ARGV[11] ~= '' then
      over = tonumber(redis.call('GET', KEYS[6]) or '0') + growth - tonumber(ARGV[11])
    end
    local freed = 0
    local replaced = {}
    local from = 0
    while prefix ~= '' and from < \(RecordAllowance.maxReplaced) and (missing > 0 or over > freed) do
      local ids = redis.call('ZRANGE', KEYS[9], from, from + 7)
      if #ids == 0 then break end
      from = from + #ids
      for _, id in ipairs(ids) do
        if (missing > 0 or over > freed) and prefix .. id ~= KEYS[1] and prefix .. id ~= spared then
          table.insert(replaced, id)
          missing = missing - 1
          freed = freed + redis.call('HSTRLEN', prefix .. id, 'c')
        end
      end
    end
    if missing > 0 then return -3 end
    if over > freed then return -2 end
    for _, id in ipairs(replaced) do
      redis.call('DEL', prefix .. id)
      redis.call('ZREM', KEYS[7], ARGV[1] .. ':' .. id)
      redis.call('SREM', KEYS[8], id)
      redis.call('ZREM', KEYS[9], id)
    end
    if growth > 0 then redis.call('INCRBY', KEYS[6], growth) end
    """

  /// KEYS record, all, uid, order, sequence, written; all, uid and order of what may be replaced. ARGV of `write`, what
  /// may be written or nothing, how many records there may be or nothing, the prefix of what may be replaced or nothing,
  /// the key of one that is spared or nothing. Returns 0 if the record exists, -2 if there are too many bytes, -3 if there
  /// are too many records, else 1 and the number of bytes that were replaced.
  static let insert = """
    local seal = redis.call('HGET', KEYS[1], 'n')
    if seal then return seal == ARGV[5] and 1 or 0 end
    local missing = ARGV[12] ~= '' and redis.call('SCARD', KEYS[3]) + 1 - tonumber(ARGV[12]) or 0
    if missing > 0 and KEYS[3] ~= KEYS[8] then return -3 end
    local growth = #ARGV[6]
    local prefix = ARGV[13]
    local spared = ARGV[14]
    \(count)
    \(write)
    """

  /// KEYS as of `insert`. ARGV of `write`, what may be written or nothing, the version before, the fence or nothing, the
  /// prefix of what may be replaced or nothing, the key of one that is spared or nothing. Returns 0 after a conflict, -1 if
  /// the lease is lost, -2 if there are too many bytes, else 1 and the number of bytes that were replaced.
  static let replace = """
    local stored = redis.call('HMGET', KEYS[1], 'v', 'o', 'f', 'n')
    if not stored[1] then return 0 end
    if stored[4] == ARGV[5] then return 1 end
    if ARGV[13] ~= '' and (stored[3] or '0') ~= ARGV[13] then return -1 end
    if stored[1] ~= ARGV[12] or stored[2] ~= ARGV[1] then return 0 end
    local missing = 0
    local growth = #ARGV[6] - redis.call('HSTRLEN', KEYS[1], 'c')
    local prefix = ARGV[14]
    local spared = ARGV[15]
    \(count)
    \(write)
    """

  private static let fields = "redis.call('HMGET', KEYS[1], 'o', 'v', 'e', 'k', 'n', 'c')"

  /// KEYS record. Its fields.
  static let read = "return \(fields)"

  /// KEYS record, all. ARGV prefix of the uids' sets, id, prefix of the uids' orders. The fields of what is
  /// removed.
  static let take = """
    local found = \(fields)
    if not found[1] then return found end
    redis.call('DEL', KEYS[1])
    redis.call('SREM', ARGV[1] .. found[1], ARGV[2])
    redis.call('ZREM', ARGV[3] .. found[1], ARGV[2])
    redis.call('ZREM', KEYS[2], found[1] .. ':' .. ARGV[2])
    return found
    """

  /// KEYS uid, order, sequence. ARGV prefix of the records' keys, position, count, bytes. For each record id,
  /// position and fields, and last where to go on or nothing. Those that are gone leave the uid's sets, if the server
  /// takes writes; those of a version without an order get a position in it.
  static let list = """
    if redis.call('ZCARD', KEYS[2]) < redis.call('SCARD', KEYS[1]) then
      local ids = redis.call('SMEMBERS', KEYS[1])
      table.sort(ids)
      for _, id in ipairs(ids) do
        if not redis.call('ZSCORE', KEYS[2], id) then
          redis.call('ZADD', KEYS[2], redis.call('INCR', KEYS[3]), id)
        end
      end
    end
    local members = redis.call(
      'ZRANGEBYSCORE', KEYS[2], '(' .. ARGV[2], '+inf', 'WITHSCORES', 'LIMIT', '0', ARGV[3])
    local found = {}
    local bytes = 0
    local next = #members == 2 * tonumber(ARGV[3]) and members[#members] or ''
    for index = 1, #members, 2 do
      local id = members[index]
      local fields = redis.call('HMGET', ARGV[1] .. id, 'o', 'v', 'e', 'k', 'n', 'c')
      if fields[1] then
        table.insert(found, {id, members[index + 1], fields})
        bytes = bytes + #(fields[6] or '')
        if bytes >= tonumber(ARGV[4]) then
          next = members[index + 1]
          break
        end
      else
        redis.pcall('SREM', KEYS[1], id)
        redis.pcall('ZREM', KEYS[2], id)
      end
    end
    table.insert(found, next)
    return found
    """

  /// KEYS all. ARGV cursor. The next cursor, and the uids of some records.
  static let owners = """
    local page = redis.call('ZSCAN', KEYS[1], ARGV[1], 'COUNT', '1000')
    local found = {page[1]}
    local seen = {}
    for index = 1, #page[2], 2 do
      local uid = string.match(page[2][index], '^(%d+):')
      if uid and not seen[uid] then
        seen[uid] = true
        table.insert(found, uid)
      end
    end
    return found
    """

  /// KEYS uid. ARGV prefix of the records' keys. How many there are, and how many bytes their contents have.
  static let usage = """
    local ids = redis.call('SMEMBERS', KEYS[1])
    local count = 0
    local bytes = 0
    for _, id in ipairs(ids) do
      local length = redis.call('HSTRLEN', ARGV[1] .. id, 'c')
      if redis.call('EXISTS', ARGV[1] .. id) == 1 then count = count + 1 end
      bytes = bytes + length
    end
    return {count, bytes}
    """

  /// KEYS value. ARGV token, milliseconds. 1 for the first use, which knows its token again: repeating it after a lost
  /// answer is safe.
  static let spend = """
    if redis.call('SET', KEYS[1], ARGV[1], 'NX', 'PX', ARGV[2]) then return 1 end
    return redis.call('GET', KEYS[1]) == ARGV[1] and 1 or 0
    """

  /// KEYS record, lease. ARGV token, milliseconds. The fence, or -1 while another process has it.
  static let lease = """
    local holder = redis.call('GET', KEYS[2])
    if holder == ARGV[1] then return tonumber(redis.call('HGET', KEYS[1], 'f') or '0') end
    if holder then return -1 end
    redis.call('SET', KEYS[2], ARGV[1], 'PX', ARGV[2])
    if redis.call('EXISTS', KEYS[1]) == 0 then return 0 end
    return redis.call('HINCRBY', KEYS[1], 'f', 1)
    """

  /// KEYS lease. ARGV token.
  static let release = "return redis.call('GET', KEYS[1]) == ARGV[1] and redis.call('DEL', KEYS[1]) or 0"

  /// KEYS all. ARGV now, limit, prefix of the records' keys, of the uids' sets and of the uids' orders. How many
  /// went.
  static let purge = """
    local members = redis.call('ZRANGEBYSCORE', KEYS[1], '-inf', '(' .. ARGV[1], 'LIMIT', '0', ARGV[2])
    for _, member in ipairs(members) do
      local uid, id = string.match(member, '^(%d+):(%x+)$')
      redis.call('DEL', ARGV[3] .. id)
      redis.call('SREM', ARGV[4] .. uid, id)
      redis.call('ZREM', ARGV[5] .. uid, id)
      redis.call('ZREM', KEYS[1], member)
    end
    return #members
    """
}
