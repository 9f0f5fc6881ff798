import AuthEngine
import EngineTestSupport
import HTTPMessages
import PosternJSON
import PosternSupport
import PosternTestSupport
import Testing

@testable import AdobePass
@testable import Entitlements
@testable import SessionRecords

@Suite("pass: what is stored")
struct PassStoreTests {
  private func remembered(_ process: PassServer.Process, uid: UInt32 = 1, id: String = "device-1") async throws
    -> String?
  {
    try await process.client(uid: uid).call.login(of: AdobePassDevice(identifier: Secret(id), information: [:]))?.mvpd
  }

  @Test("a restart makes neither registration nor token, and has the MVPD with its name (RG1, RG2, CF2)")
  func restart() async throws {
    let server = PassServer()
    server.on(
      "GET configuration",
      .json(#"{"requestor":{"mvpds":[{"id":"m","displayName":"Name","logoUrl":"https://l.test/"}]}}"#))
    server.on("GET profiles", .profiles(["m": server.time(86_400)]))
    server.on("GET profiles/m", .profiles(["m": server.time(86_400)]))
    let first = try server.process()
    _ = try await first.client().configuration()
    _ = try await first.client().profiles()
    let later = try await server.process().client(uid: 2).profiles()
    #expect(later.remembered?.id == "m" && later.remembered?.displayName == "Name")
    #expect(later.remembered?.logoURL == "https://l.test/" && server.calls.last?.name == "GET profiles/m")
    #expect(server.registrations.current == 1 && server.tokens.current == 1)
    server.clock.advance(by: .seconds(21_600 - 29))
    _ = try await server.process().client().profiles()
    #expect(server.registrations.current == 1 && server.tokens.current == 2)
    #expect(server.calls(to: "GET configuration").count == 1)
  }

  @Test("two processes on one store: one registration, one token, and each sees the other's login and logout")
  func twoProcesses() async throws {
    let server = PassServer()
    server.on("GET profiles", .profiles(["m": server.time(600)]))
    server.on("POST decisions/preauthorize/m") { .permits($0.resources) }
    server.on("GET logout/m", .json(#"{"logouts":{}}"#))
    let (first, second) = (try server.process(mvpd: "m"), try server.process(mvpd: "m"))
    _ = try await first.client().profiles()
    #expect(try await remembered(second) == "m")
    for _ in 0..<2 { _ = await second.engine.ask(["a"], at: second.point) }
    #expect(server.calls(to: "POST decisions/preauthorize/m").count == 1)
    #expect(try await first.client(uid: 7).logout().forgotten == ["m"])
    #expect(try await remembered(second) == nil)
    // The permits of before end in the other process, too (DE10).
    _ = await second.engine.ask(["a"], at: second.point)
    #expect(server.calls(to: "POST decisions/preauthorize/m").count == 2)
    #expect(server.registrations.current == 1 && server.tokens.current == 1)
  }

  // Would catch a process that looks for a token before it has the lease, and no more afterwards.
  @Test("a process that waits for the lease uses the token that another one has stored meanwhile")
  func tokenStoredMeanwhile() async throws {
    let store = TroubledStore()
    let server = PassServer(store: store)
    server.on("GET profiles", .profiles(["m": server.time(86_400)]))
    server.on("GET profiles/m", .profiles(["m": server.time(86_400)]))
    _ = try await server.process().client().profiles()
    server.clock.advance(by: .seconds(21_600 - 29))
    let gate = Gate()
    store.blockNextLease(at: gate)
    let late = try server.process()
    async let profiles = late.client().profiles()
    #expect(await eventually { gate.waiterCount == 1 })
    _ = try await server.process().client().profiles()
    #expect(server.tokens.current == 2)
    gate.open()
    _ = try await profiles
    #expect(server.tokens.current == 2 && server.registrations.current == 1)
  }

  @Test("another device, another provider and a new registration have none of the login (PR9)")
  func others() async throws {
    let server = PassServer()
    server.on("GET profiles", .profiles(["m": server.time(600)]))
    let process = try server.process()
    _ = try await process.client().profiles()
    #expect(try await remembered(process) == "m")
    #expect(try await remembered(process, id: "device-2") == nil)
    #expect(try await remembered(server.process(serviceProvider: "OTHER")) == nil)
    #expect(try await remembered(server.process(deviceID: "device-1")) == "m")
    server.on("GET profiles/m", .enhanced("invalid_access_token_client_application", 401, "application-registration"))
    _ = await passError { try await process.client().profiles() }
    #expect(server.registrations.current == 2)
    #expect(try await remembered(process) == nil)
    #expect(try await remembered(server.process()) == nil)
  }

  @Test("permits of preauthorize end with another MVPD, and are those of one device and service token (SS4, DE10)")
  func permits() async throws {
    let server = PassServer()
    server.on("GET profiles", .profiles(["m": server.time(600)]), .profiles(["n": server.time(600)]))
    for mvpd in ["m", "n"] { server.on("POST decisions/preauthorize/\(mvpd)") { .permits($0.resources) } }
    let process = try server.process()
    func sent(_ pass: JSONObject = JSONObject()) async -> Int {
      let before = server.calls.count
      _ = await process.engine.ask(["a"], at: process.point, context: ["pass": .object(pass)])
      return server.calls.count - before
    }
    _ = try await process.client().profiles(.all)
    let (first, second) = (serviceToken().reveal(), serviceToken(exp: "1900000001").reveal())
    for pass: JSONObject in [
      [:], ["serviceToken": .string(first)], ["serviceToken": .string(second)],
      ["device": ["id": "device-2"], "mvpd": "m"], ["platform": ["name": "roku", "token": "t"]],
    ] {
      #expect(await sent(pass) == 1)
      #expect(await sent(pass) == 0)
    }
    _ = try await process.client().profiles(.all)
    #expect(await sent() == 1 && server.calls.last?.name == "POST decisions/preauthorize/n")
    #expect(await sent(["mvpd": "m"]) == 1)
  }

  @Test("without an MVPD from anywhere preauthorize sends nothing")
  func missing() async throws {
    let server = PassServer()
    let process = try server.process()
    let response = await process.engine.ask(["a"], at: process.point)
    #expect(response.status?.code == "authentication_session_missing" && server.calls.isEmpty)
  }

  @Test("writers that meet: one login remains, and no call fails")
  func conflicts() async throws {
    let server = PassServer()
    for number in 0..<4 { server.on("GET profiles/m\(number)", .profiles(["m\(number)": server.time(600)])) }
    let processes = try (0..<2).map { _ in try server.process() }
    _ = try await processes[0].client().profiles(.mvpd("m0"))
    try await withThrowingTaskGroup(of: Void.self) { group in
      for number in 0..<3 {
        let client = processes[number % 2].client(uid: UInt32(number % 2))
        group.addTask { _ = try await client.profiles(.mvpd("m\(number)")) }
      }
      try await group.waitForAll()
    }
    #expect(try await remembered(processes[0])?.hasPrefix("m") == true)
    #expect(try await remembered(processes[0]) == remembered(processes[1]))
  }

  @Test("a store that cannot be used is an error of its own; a failed write is none that a retry cannot mend (RG8)")
  func troubled() async throws {
    let store = TroubledStore()
    let server = PassServer(store: store)
    server.on("GET profiles", .profiles(["m": server.time(600)]))
    let process = try server.process(attempts: 1)
    store.failInsertions()
    for _ in 0..<2 {
      let error = await passError { try await process.client().profiles() }
      #expect(error?.isRetryable == true && error?.outcome == .notSent && server.calls.isEmpty)
    }
    store.failInsertions(false)
    #expect(try await process.client().profiles().remembered?.id == "m" && server.registrations.current == 1)
    // What was sent is not reported as if it had not been.
    server.on("GET profiles", .profiles(["m": server.time(900)]))
    server.on("GET profiles/m", .profiles(["m": server.time(900)]))
    store.failReplacements(1)
    let late = await passError { try await process.client().profiles() }
    #expect(late?.outcome == .replied && late?.isRetryable == true)
    store.failReads(true)
    for error in [
      await passError { try await process.client().profiles() },
      await passError { try await process.client().authorize(["a"]) },
      await passError { try await process.client().logout() },
    ] {
      #expect(error?.kind == .storeUnavailable && error?.isRetryable == true && error?.outcome == .notSent)
    }
  }

  @Test("a user for whom the store is full changes the login of a shared device, and loses it for all")
  func foreignRecord() async throws {
    let store = TroubledStore()
    let server = PassServer(store: store)
    server.on("GET profiles", .profiles(["m": server.time(600)]))
    server.on("GET profiles/n", .profiles(["n": server.time(600)]))
    let process = try server.process()
    _ = try await process.client(uid: 1).profiles()
    store.failInsertions()
    _ = try? await process.client(uid: 2).profiles(.mvpd("n"))
    #expect(try await remembered(process) == "n")
  }

  @Test("a login keeps its end by this machine's clock, and a later answer corrects it")
  func skew() async throws {
    let server = PassServer()
    server.on("GET profiles", .profiles(["m": server.time(600)]))
    server.on("GET profiles/m", .profiles(["m": server.time(600)]))
    let client = try server.process().client()
    let device = AdobePassDevice(identifier: Secret("device-1"), information: [:])
    server.clock.stepWall(by: .seconds(-3600))
    _ = try await client.profiles()
    server.clock.stepWall(by: .seconds(3600))
    _ = try await client.profiles()
    #expect(try await client.call.login(of: device)?.profile?.endsAt == server.time(600))
  }
}
