import AuthEngine
import HTTPMessages
import PosternJSON
import PosternJSONRPC
import PosternProtocol
import PosternSupport
import PosternTestSupport
import Testing

@testable import Sidecar

/// What the levels of a chain, which all are of one user, could have in common.
@Suite("Levels share nothing but their maker's rights", .timeLimit(.minutes(1)))
struct EndpointSharingTests {
  private static let yaml = """
    resources:
      api: { baseUrl: "https://api.test/shop/", auth: none, cookies: { store: true } }
    """

  private let bench: SidecarBench
  private let sockets: ScriptedSockets
  /// While false, requests wait.
  private let isOpen = Locked(true)

  init() throws {
    bench = try SidecarBench(Self.yaml) { [isOpen] request, _ async throws(TransportError) in
      while !isOpen.withLock({ $0 }) {
        guard !Task.isCancelled else { throw TransportError(code: .cancelled, outcome: .notSent, detail: "") }
        await Task.yield()
      }
      return HTTPResponse(
        status: 200, fields: ["Set-Cookie": "of=\(request.url.path.split(separator: "/").last ?? "")"])
    }
    sockets = bench.use(ScriptedSockets())
  }

  private func child(of maker: BenchConnection) async throws -> (id: String, connection: BenchConnection) {
    let id = await maker.endpoint()
    return (id, try #require(bench.connect(to: id, sockets)))
  }

  private static func tasks(_ connection: BenchConnection) async -> [String] {
    let tasks = await connection.call("listTasks")["result"]?["tasks"]?.arrayValue ?? []
    return tasks.map { "\($0["task"]?.stringValue ?? "") \($0["state"]?.stringValue ?? "")" }
  }

  /// Starts a task that runs until its answer is wanted.
  private func begin(_ name: String, _ connection: BenchConnection) async {
    let count = bench.transport.requests.count
    connection.start("fetchResource", ["path": .string(name), "task": .string(name)])
    while bench.transport.requests.count == count { await Task.yield() }
  }

  /// Catches a child that learns its maker's task names by taking them, keeps the maker from a name, or ends its task.
  @Test("A child occupies, sees or ends its maker's task of the same name")
  func tasks() async throws {
    let maker = bench.connect()
    let (_, outer) = try await child(of: maker)
    let (id, inner) = try await child(of: outer)
    isOpen.withLock { $0 = false }
    for connection in [maker, outer, inner] { await begin("x", connection) }
    let others = [bench.connect(), try #require(bench.connect(to: await maker.endpoint(), sockets))]
    #expect(await Self.tasks(others[0]) == ["x running", "x running", "x running"])
    #expect(await Self.tasks(others[1]).isEmpty)
    // By its name each level has its own.
    let watch = try #require(bench.connect(to: id, sockets))
    #expect(await watch.call("suspendTask", ["task": "x"])["result"]?["state"] == "suspended")
    #expect(await Self.tasks(others[0]).filter { $0 == "x suspended" }.count == 1)
    #expect(await watch.call("resumeTask", ["task": "x"])["result"] != nil)
    #expect(await watch.call("cancelTask", ["task": "x"])["result"]?["state"] == "cancelled")
    #expect(await inner.next()?["error"]?["code"] == -32800)
    #expect(await others[0].call("getTask", ["task": "x"])["result"]?["state"] == "running", "the maker's own")
    // A maker ends what was begun below.
    await begin("y", inner)
    #expect(await others[0].call("cancelTask", ["task": "y"])["result"]?["state"] == "cancelled")
    #expect(await inner.next()?["error"]?["code"] == -32800)
    isOpen.withLock { $0 = true }
    for connection in [maker, outer] { #expect(await connection.next()?["result"]?["task"] == "x") }
    // Of what a connection has begun before it gave something up, and behind that.
    #expect(await maker.call("narrow", ["resources": ["api"]])["result"] != nil)
    #expect(await Self.tasks(maker).isEmpty)
    #expect(await maker.call("fetchResource", ["path": "x", "task": "x"])["result"] != nil)
    #expect(await Self.tasks(maker) == ["x completed"])
  }

  /// Catches a session of the maker's with a server that its child goes on with, and one that a child plants.
  @Test("A child sends its maker's cookies, or has it send its own")
  func cookies() async throws {
    let maker = bench.connect()
    let (id, outer) = try await child(of: maker)
    let (_, inner) = try await child(of: outer)
    let narrowed = bench.connect()
    #expect(await narrowed.call("narrow", ["resources": ["api"]])["result"] != nil)
    let callers = [("maker", maker), ("outer", outer), ("inner", inner), ("narrowed", narrowed)]
    for (name, connection) in callers {
      #expect(await connection.call("fetchResource", ["path": .string(name)])["result"] != nil)
      #expect(bench.transport.requests.last?.fields["Cookie"] == nil, "\(name)")
    }
    func cookie(_ connection: BenchConnection, _ name: String) async -> String? {
      _ = await connection.call("fetchResource", ["path": .string(name)])
      return bench.transport.requests.last?.fields["Cookie"]
    }
    for (name, connection) in callers { #expect(await cookie(connection, name) == "of=\(name)") }
    let again = bench.connect()
    #expect(await cookie(again, "maker") == "of=maker", "another connection of the user")
    #expect(await again.call("narrow", ["resources": ["api"]])["result"] != nil)
    #expect(await cookie(again, "again") == nil)
    // What ends takes its cookies along.
    let jars = bench.service.engine.fetcher.cookies
    #expect(jars.count == 5)
    narrowed.close(bench)
    #expect(jars.count == 4)
    #expect(await maker.call("revokeEndpoint", ["endpoint": .string(id)])["result"]?["revoked"] == 2)
    #expect(jars.count == 2)
    again.close(bench)
    #expect(jars.count == 1)
  }
}
