import AuthEngine
import HTTPMessages
import PosternJSON
import PosternProtocol
import PosternSupport
import PosternTestSupport
import Testing

@testable import PosternObservability
@testable import Sidecar

/// `listTasks` and `listSessions`: pages, cursors, and the order of users.
@Suite("Lists", .timeLimit(.minutes(2)))
struct ListTests {
  private static let yaml = """
    peers:
      - { uid: 7, methods: ["*"] }
      - { uid: 9, methods: ["*"] }
    store: { kind: memory }
    issuers:
      corp: { issuer: "https://idp.test", clientId: c, clientAuth: none }
    resources:
      open: { baseUrl: "https://a.test/", auth: none }
    """

  private static func grant() -> JSONValue {
    ["issuer": "corp", "grant": ["type": "tokens", "accessToken": "given", "expiresIn": 3600]]
  }

  private static func tasks(_ connection: BenchConnection, _ names: Range<Int>, path: String = "x") async {
    for name in names {
      let params: JSONValue = ["resource": "open", "path": .string(path), "task": .string("t\(name)")]
      _ = await connection.call("fetchResource", params)
    }
  }

  /// All pages, each with its entries' names.
  private static func pages(
    _ connection: BenchConnection, _ method: String, _ member: String, _ name: String, limit: Int64?
  ) async throws -> [[String]] {
    var pages: [[String]] = []
    var cursor: JSONValue?
    repeat {
      var params = JSONObject()
      if let limit { params["limit"] = .integer(limit) }
      params["cursor"] = cursor
      let result = try #require(await connection.call(method, .object(params))["result"])
      pages.append((result[member]?.arrayValue ?? []).compactMap { $0[name]?.stringValue })
      cursor = result["nextCursor"]
    } while cursor != nil && pages.count < 1000
    return pages
  }

  @Test("a page has more entries than requested, or the pages together miss a task or have one twice")
  func taskPages() async throws {
    let bench = try SidecarBench(Self.yaml)
    let connection = bench.connect(uid: 7)
    await Self.tasks(connection, 0..<230)
    let names = (0..<230).reversed().map { "t\($0)" }
    let usual = try await Self.pages(connection, "listTasks", "tasks", "task", limit: nil)
    #expect(usual.map(\.count) == [100, 100, 30] && usual.flatMap(\.self) == names)
    let ten = try await Self.pages(connection, "listTasks", "tasks", "task", limit: 10)
    #expect(ten.count == 23 && ten.flatMap(\.self) == names)
    #expect(try await Self.pages(connection, "listTasks", "tasks", "task", limit: 1000).map(\.count) == [230])
    #expect(try await Self.pages(bench.connect(uid: 9), "listTasks", "tasks", "task", limit: nil) == [[]])
  }

  @Test("tasks that come, end and go between two pages make others appear twice or not at all")
  func taskPagesThatChange() async throws {
    let bench = try SidecarBench(Self.yaml)
    let connection = bench.connect(uid: 7)
    await Self.tasks(connection, 0..<20)
    let first = try #require(await connection.call("listTasks", ["limit": 5])["result"])
    // A name that is used again is another task: it, and the others that are new, are not in the list of that time.
    await Self.tasks(connection, 4..<5)
    await Self.tasks(connection, 20..<22)
    let cursor = try #require(first["nextCursor"])
    let second = try #require(await connection.call("listTasks", ["cursor": cursor])["result"])
    let names = second["tasks"]?.arrayValue?.compactMap { $0["task"]?.stringValue }
    #expect(names == [14, 13, 12, 11, 10, 9, 8, 7, 6, 5, 3, 2, 1, 0].map { "t\($0)" })
    #expect(second["nextCursor"] == nil)
  }

  @Test("a cursor shows its position, which counts what all users do; or one that was changed is taken")
  func cursors() throws {
    let cursors = ListCursors()
    let position = ListCursors.Position(entry: 5, moment: 3)
    let (first, again) = (
      try cursors.cursor(position, of: "tasks", for: 7), try cursors.cursor(position, of: "tasks", for: 7)
    )
    #expect(first != again)
    for cursor in [first, again] { #expect(cursors.position(cursor, of: "tasks", for: 7) == position) }
    #expect(cursors.position(first, of: "tasks", for: 9) == nil)
    #expect(cursors.position(first, of: "sessions", for: 7) == nil)
    var sums = Set<UInt64>()
    for _ in 0..<50 {
      let bytes = try #require(Base64URL.decode(try cursors.cursor(position, of: "tasks", for: 7)))
      for start in stride(from: 0, to: bytes.count - 7, by: 4) {
        let number = bytes[start..<start + 8].reduce(0) { $0 << 8 | UInt64($1) }
        #expect(sums.insert(number).inserted, "no part of it is always the same")
      }
      var changed = bytes
      changed[12] ^= 1
      #expect(cursors.position(Base64URL.string(changed), of: "tasks", for: 7) == nil)
    }
    let largest = ListCursors.Position(entry: .max, moment: .max)
    #expect(cursors.position(try cursors.cursor(largest, of: "tasks", for: 7), of: "tasks", for: 7) == largest)
  }

  @Test("an answer has more than 1 MiB, or the entries that do not fit are lost")
  func bytes() async throws {
    let bench = try SidecarBench(Self.yaml)
    let connection = bench.connect(uid: 7)
    await Self.tasks(connection, 0..<700, path: String(repeating: "p", count: 2000))
    connection.send(#"{"jsonrpc":"2.0","id":"l","method":"listTasks","params":{"limit":1000}}"#)
    let first = try #require(await connection.next()?["result"])
    #expect(JSONWriter().write(first).count <= 1 << 20)
    let pages = try await Self.pages(connection, "listTasks", "tasks", "task", limit: 1000)
    #expect(pages.count == 2 && pages.flatMap(\.self) == (0..<700).reversed().map { "t\($0)" })
  }

  @Test("sessions of a page are told apart from those of the next by anything that changes")
  func sessionPages() async throws {
    let bench = try SidecarBench(Self.yaml)
    let connection = bench.connect(uid: 7)
    var made: [String] = []
    for _ in 0..<250 {
      let session = await connection.call("createSession", Self.grant())["result"]?["session"]?.stringValue
      made.append(try #require(session))
    }
    let pages = try await Self.pages(connection, "listSessions", "sessions", "session", limit: nil)
    #expect(pages.map(\.count) == [100, 100, 50] && pages.flatMap(\.self) == made)
    let first = try #require(await connection.call("listSessions", ["limit": 10])["result"])
    // The last one of the page goes, and one that is still to come.
    for index in [9, 12] { _ = await connection.call("endSession", ["session": .string(made[index])]) }
    let cursor = try #require(first["nextCursor"])
    let rest = await connection.call("listSessions", ["cursor": cursor, "limit": 3])["result"]?["sessions"]?.arrayValue
    #expect(rest?.compactMap { $0["session"]?.stringValue } == [made[10], made[11], made[13]])
  }

  @Test("a cursor is good for another user, another list or after it was changed")
  func cursors() async throws {
    let bench = try SidecarBench(Self.yaml)
    let (one, other) = (bench.connect(uid: 7), bench.connect(uid: 9))
    for connection in [one, other] { await Self.tasks(connection, 0..<3) }
    let cursor = try #require(await one.call("listTasks", ["limit": 1])["result"]?["nextCursor"]?.stringValue)
    #expect(await bench.connect(uid: 7).call("listTasks", ["cursor": .string(cursor)])["result"] != nil)
    let changed = cursor.hasPrefix("A") ? "B" + cursor.dropFirst() : "A" + cursor.dropFirst()
    let wrong: [(BenchConnection, String, String)] = [
      (other, "listTasks", cursor), (one, "listSessions", cursor), (one, "listTasks", changed),
      (one, "listTasks", ""), (one, "listTasks", "0"), (one, "listTasks", cursor + "AAAA"),
      (one, "listSessions", String(repeating: "A", count: 100_000)),
    ]
    for (connection, method, cursor) in wrong {
      let error = await connection.call(method, ["cursor": .string(cursor)])["error"]
      #expect(error?["code"] == -32602 && error?["data"]?["path"] == "/cursor")
    }
    for limit in [0, -1, 1001] as [Int64] {
      let error = await one.call("listTasks", ["limit": .integer(limit)])["error"]
      #expect(error?["code"] == -32602 && error?["data"]?["path"] == "/limit")
    }
  }

  @Test("two lists of one user are put together at the same time, or those that wait ask for any number of entries")
  func rotation() async throws {
    let limiter = ListLimiter(clock: ManualClock())
    let peer = PeerID(uid: 7, connection: 1)
    try await limiter.enter(peer, entries: 1000, until: .never)
    let entered = Locked(false)
    let second = Task {
      try await limiter.enter(peer, entries: 9000, until: .never)
      entered.withLock { $0 = true }
    }
    // Another user's list continues at once.
    try await limiter.enter(PeerID(uid: 9, connection: 2), entries: 1000, until: .never)
    #expect(limiter.uidCount == 2)
    await #expect(throws: ConcurrencyLimiter.Rejection.queueFull) {
      try await limiter.enter(peer, entries: 9500, until: .never)
    }
    #expect(!entered.withLock { $0 })
    limiter.leave(peer, entries: 1000)
    try await second.value
    #expect(entered.withLock { $0 })
    limiter.leave(peer, entries: 9000)
    limiter.leave(PeerID(uid: 9, connection: 2), entries: 1000)
    #expect(limiter.uidCount == 0)
  }

  @Test("a batch of lists keeps its user from being answered, or takes more memory than allowed")
  func batch() async throws {
    let bench = try SidecarBench(Self.yaml)
    let connection = bench.connect(uid: 7)
    await Self.tasks(connection, 0..<150)
    func batch(_ params: String) -> String {
      "["
        + (0..<64).map { #"{"jsonrpc":"2.0","id":\#($0),"method":"listTasks","params":\#(params)}"# }
        .joined(separator: ",") + "]"
    }
    connection.send(batch("{}"))
    let usual = await connection.next()?.arrayValue ?? []
    #expect(usual.count == 64 && usual.allSatisfy { $0["result"]?["tasks"]?.arrayValue?.count == 100 })
    connection.send(batch(#"{"limit":1000}"#))
    let long = await connection.next()?.arrayValue ?? []
    let rejected = long.filter { $0["error"]?["code"] == -32009 && $0["error"]?["data"]?["retryable"] == true }
    let answered = long.filter { $0["result"]?["tasks"]?.arrayValue?.count == 150 }
    #expect(answered.count >= 10 && answered.count + rejected.count == 64)
    #expect(await connection.call("listTasks", ["limit": 1])["result"] != nil)
  }

  @Test("tasks that run are behind those that have ended, or a page loses its place when one of them ends")
  func runningTasks() async throws {
    let registry = RegistryBench()
    let running = (0..<6).map { registry.begin("run\($0)") }
    for number in 0..<6 { registry.end(registry.begin("end\(number)")) }
    let later = registry.begin("later")
    let names = ["later"] + (0..<6).reversed().map { "run\($0)" } + (0..<6).reversed().map { "end\($0)" }
    #expect(registry.names(atMost: 100) == names)
    // From here on everything changes: the pages show the list as it was.
    let moment = registry.tasks.moment
    var (read, position) = ([String](), Int64(0))
    for step in 0..<20 {
      let page = registry.tasks.tasks(of: 7, at: moment, after: position, atMost: 2)
      read += page.map { $0.task.description.task }
      position = page.last?.position ?? position
      switch step {
      case 0: registry.end(later)
      case 1: for task in running.dropFirst() { registry.end(task) }
      case 2: registry.end(registry.begin("new"))
      case 3: registry.end(running[0])
      default: break
      }
      _ = registry.begin("newer\(step)")
    }
    #expect(read == names)
    #expect(registry.names(atMost: 100).prefix(20) == (0..<20).reversed().map { "newer\($0)" }[...])
  }

  @Test("a task of another level has the name that one wants, or is found by it")
  func levels() throws {
    let registry = RegistryBench()
    let maker = try registry.level()
    let (one, two) = (try registry.level(under: maker), try registry.level(under: maker))
    let first = registry.begin("x", through: one)
    registry.clock.advance(by: .milliseconds(1))
    let second = registry.begin("x", through: two)
    #expect(registry.state("x", through: one) === first && registry.state("x", through: two) === second)
    // The maker finds what was begun below it by its name, the newest first; its own before that.
    #expect(registry.state("x", through: maker) === second && registry.state("x", through: nil) === second)
    registry.end(second)
    #expect(registry.state("x", through: maker) === first, "one that runs before one that has ended")
    let own = registry.begin("x", through: maker)
    #expect(registry.state("x", through: maker) === own && registry.state("x", through: one) === first)
    #expect(!registry.tasks.isRunning("x", of: 7, through: two) && registry.tasks.isRunning("x", of: 7, through: one))
    #expect(!registry.tasks.isRunning("x", of: 7, through: nil))
    // Of another user there is nothing by that name.
    #expect(registry.tasks.known("x", of: 9, in: .everything) == nil)
  }

  @Test("whatever begins, ends and takes a name again: one task of a name is known, and the list has all of them")
  func names() throws {
    let registry = RegistryBench()
    let maker = try registry.level()
    let levels = [nil, maker, try registry.level(under: maker)]
    var random = SeededGenerator(seed: 39)
    var running: [String: NetworkTask] = [:]
    /// Each name with its level, the newest task first.
    var order: [String] = []
    for _ in 0..<2000 {
      let (level, number) = (Int.random(in: 0..<3, using: &random), Int.random(in: 0..<60, using: &random))
      let (name, key) = ("task-\(number)", "\(level) task-\(number)")
      #expect(registry.tasks.isRunning(name, of: 7, through: levels[level]) == (running[key] != nil))
      if let task = running.removeValue(forKey: key) {
        registry.end(task)
      } else {
        running[key] = registry.begin(name, through: levels[level])
        order.removeAll { $0 == key }
        order.insert(key, at: 0)
      }
      if let task = running[key] { #expect(registry.state(name, through: levels[level]) === task) }
    }
    let (live, ended) = (order.filter { running[$0] != nil }, order.filter { running[$0] == nil })
    #expect(registry.names(atMost: 1000) == (live + ended).map { String($0.dropFirst(2)) })
  }

  @Test("a child with many ended tasks makes those of its maker be forgotten")
  func capacityOfLevels() throws {
    let registry = RegistryBench()
    let child = try registry.level()
    for number in 0..<10 { registry.end(registry.begin("own\(number)")) }
    for number in 0..<(TaskRegistry.capacity + 500) {
      registry.end(registry.begin("many\(number)", through: child))
    }
    #expect(registry.names(atMost: 10_000).filter { $0.hasPrefix("own") }.count == 10)
    #expect(registry.names(atMost: 10_000).count == TaskRegistry.capacity)
    registry.clock.advance(by: TaskRegistry.memory + .seconds(1))
    #expect(registry.names(atMost: 10).isEmpty)
  }

  @Test("a user with many ended tasks makes those of others be forgotten")
  func capacity() async throws {
    let clock = ManualClock()
    let registry = TaskRegistry(clock: clock)
    func end(_ name: String, of uid: UInt32) {
      let task = NetworkTask(identifier: name, request: ResourceRequest(path: "x"), clock: clock)
      let registered = registry.begin(task, for: "orders", of: uid)
      #expect(registered != nil)
      if let registered { registry.end(registered) }
    }
    for number in 0..<10 { end("small\(number)", of: 2) }
    for number in 0..<(TaskRegistry.capacity + 500) { end("many\(number)", of: 1) }
    func count(of uid: UInt32) -> Int { registry.tasks(of: uid, at: registry.moment, after: 0, atMost: 10_000).count }
    #expect(count(of: 2) == 10)
    #expect(count(of: 1) == TaskRegistry.capacity - 10)
    #expect(
      registry.known("many0", of: 1, in: .everything) == nil && registry.known("small0", of: 2, in: .everything) != nil)
    clock.advance(by: TaskRegistry.memory + .seconds(1))
    #expect(registry.known("small0", of: 2, in: .everything) == nil)
    #expect(count(of: 1) == 0)
  }
}

/// The tasks of uid 7.
private struct RegistryBench {
  let clock = ManualClock()
  let tasks: TaskRegistry
  private let registered = Locked<[ObjectIdentifier: TaskRegistry.Registered]>([:])

  init() { tasks = TaskRegistry(clock: clock) }

  func level(under parent: Narrowing? = nil) throws -> Narrowing {
    try Narrowing.make(
      EndpointLimits(), id: "\(UInt64.random(in: .min ... .max))", under: parent,
      rule: AccessRules.Rule(uid: 7, gid: nil, methods: nil), at: clock.monotonicNow)
  }

  func begin(_ name: String, through level: Narrowing? = nil) -> NetworkTask {
    let task = NetworkTask(identifier: name, request: ResourceRequest(path: "x"), clock: clock)
    let registered = tasks.begin(task, for: "open", of: 7, through: level)
    #expect(registered != nil)
    self.registered.withLock { $0[ObjectIdentifier(task)] = registered }
    return task
  }

  func end(_ task: NetworkTask) {
    let registered = registered.withLock { $0.removeValue(forKey: ObjectIdentifier(task)) }
    if let registered { tasks.end(registered) }
  }

  func state(_ name: String, through level: Narrowing?) -> NetworkTask? {
    guard case .running(let task)? = tasks.known(name, of: 7, in: .everything, through: level) else { return nil }
    return task
  }

  func names(atMost count: Int) -> [String] {
    tasks.tasks(of: 7, at: tasks.moment, after: 0, atMost: count).map { $0.task.description.task }
  }
}
