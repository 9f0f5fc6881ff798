import PosternJSON
import Testing

@Suite("Peers: who may call what")
struct AccessTests {
  static let rules = """
    peers:
      - { uid: 7, methods: [getInfo] }
      - { gid: 30, methods: ["*"], resources: [open] }
      - { uid: 7, methods: ["*"] }
    resources:
      open: { baseUrl: "https://a.test/", auth: none }
      closed: { baseUrl: "https://b.test/", auth: none }
    """

  @Test(
    "the first rule that matches counts, by primary or supplementary group; a peer without a rule is rejected",
    arguments: [
      (UInt32(7), UInt32(1), [UInt32](), "getInfo", nil as Int64?), (7, 1, [], "health", -32020),
      (7, 30, [], "health", -32020), (8, 30, [], "health", nil), (8, 1, [5, 30], "health", nil),
      (8, 1, [5], "health", -32020), (0, 0, [], "getInfo", -32020),
    ])
  func methods(uid: UInt32, gid: UInt32, groups: [UInt32], method: String, code: Int64?) async throws {
    let connection = try SidecarBench(Self.rules).connect(uid: uid, gid: gid, groups: groups)
    #expect(await connection.call(method)["error"]?["code"]?.integerValue == code)
  }

  @Test("a rule's resources bound what its peers may fetch: others do not exist for them")
  func resources() async throws {
    let connection = try SidecarBench(Self.rules).connect(uid: 9, gid: 30)
    #expect(await connection.call("fetchResource", ["resource": "open"])["result"]?["status"] == 200)
    let rejected = await connection.call("fetchResource", ["resource": "closed"])
    #expect(rejected["error"]?["data"]?["reason"] == "invalid_params")
    #expect(rejected["error"]?["data"]?["path"] == "/resource")
  }

  @Test("without rules the sidecar's own user may do everything, and other users nothing")
  func ownUser() async throws {
    let bench = try SidecarBench("{}")
    #expect(await bench.connect().call("getInfo")["result"]?["name"] == "postern")
    #expect(await bench.connect(uid: SidecarBench.ownUID + 1).call("getInfo")["error"]?["code"] == -32020)
  }

  @Test("each member of a batch is authorised by itself")
  func batch() async throws {
    let connection = try SidecarBench(Self.rules).connect(uid: 7, gid: 1)
    connection.send(#"[{"jsonrpc":"2.0","id":1,"method":"getInfo"},{"jsonrpc":"2.0","id":2,"method":"metrics"}]"#)
    let answers = await connection.next()?.arrayValue
    #expect(answers?.first?["result"] != nil)
    #expect(answers?.last?["error"]?["code"] == -32020)
  }
}
