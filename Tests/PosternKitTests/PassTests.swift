import AuthEngine
import HTTPMessages
import PosternJSON
import PosternKit
import PosternSupport
import PosternTestSupport
import Testing

private func provider(_ file: String) -> JSONValue {
  [
    "kind": "adobe-pass", "baseUrl": "https://adobe.test", "serviceProvider": "REF30",
    "softwareStatement": "the-statement", "deviceIdFile": .string(file), "domainNames": ["tv.test"],
    "redirectUrls": ["https://tv.test/back"],
  ]
}

@Suite("Adobe Pass in a program's own process")
struct PassTests {
  private let clock = ManualClock()
  private let service = ScriptedAdobePass()
  private let transport: ScriptedTransport
  private let store = MemoryRecordStore()
  private let folder: Folder

  init() throws {
    transport = ScriptedTransport { [service] request, _ throws(TransportError) in service.answer(request) }
    folder = try Folder()
  }

  private func postern(_ points: [String], uid: UInt32 = 1000) async throws -> Postern {
    var options = Postern.Options()
    options.transport = transport
    options.clock = clock
    options.environment = [:]
    options.storage = PosternEngine.SessionStorage(store)
    options.uid = uid
    var section: JSONObject = ["shop": ["kind": "opa", "baseUrl": "https://opa.test/", "path": "shop"]]
    for name in points { section[name] = provider("\(folder.path)/device-\(name)") }
    return try await Postern(configuration: ["preauthorization": .object(section)], options: options)
  }

  @Test("the name of a provider is guessed, another kind is taken for one, or a wrong name has no suggestion")
  func names() async throws {
    let postern = try await postern(["tv"])
    #expect(try postern.pass().name == "tv" && postern.pass("tv").name == "tv")
    for name in ["shop", "tw"] {
      let error = #expect(throws: PassError.self) { try postern.pass(name) }
      guard case .invalidParameter(let parameter)? = error?.kind else { throw Unexpected(error) }
      #expect(
        parameter.path.jsonPointer == "/provider" && parameter.reason.contains("did you mean tv?") == (name == "tw"))
    }
    let several = try await self.postern(["tv", "radio"])
    #expect(#expect(throws: PassError.self) { try several.pass() }?.detail.contains("name one") == true)
    let none = try await self.postern([])
    #expect(#expect(throws: PassError.self) { try none.pass() }?.detail.contains("adobe-pass") == true)
    #expect(transport.requests.isEmpty)
  }

  @Test("a television and a phone: a call does not reach Adobe Pass, or loses a parameter or a result")
  func television() async throws {
    let tv = try await postern(["tv"]).pass()
    let configuration = try await tv.configuration()
    #expect(configuration.mvpds.map(\.id) == ["Cablevision"])
    #expect(try await tv.configuration(includingTempPass: true).mvpds.count == 2)
    let session = try await tv.createSession()
    #expect(session.actionName == "resume" && session.missingParameters == ["mvpd", "domainName", "redirectUrl"])
    let code = try #require(session.code)
    #expect(try await tv.session(code: code, options: PassOptions(isSecondScreen: true)).serviceProvider == "REF30")
    let parameters = PassLoginParameters(
      mvpd: "Cablevision", domainName: "tv.test", redirectURL: "https://tv.test/back")
    let resumed = try await tv.resumeSession(code: code, parameters, options: PassOptions(isSecondScreen: true))
    #expect(resumed.url == "https://adobe.test/api/v2/authenticate/REF30/QZR7T4")
    let clock = clock
    async let waiting = tv.profiles(.code(code, wait: .seconds(60)))
    for _ in 0..<2 {
      #expect(await eventually { clock.remainders.contains(.seconds(5)) })
      clock.advance(by: .seconds(5))
    }
    let profiles = try await waiting
    #expect(profiles.state == .authenticated && profiles.selected == "Cablevision" && service.questionCount == 3)
    let decisions = try await tv.authorize(["news"]).decisions
    #expect(decisions.map(\.isAuthorized) == [true] && decisions.first?.token?.serialized.reveal() == "media")
    let logout = try await tv.logout()
    #expect(logout.upstream == .ended && logout.forgotten == ["Cablevision"])
    #expect(logout.logouts.map(\.url) == ["https://adobe.test/adobe-services/logout"])
    #expect(transport.requests(to: "https://adobe.test/o/client/register").count == 1)
    #expect(transport.requests(to: "https://adobe.test/api/v2/REF30/configuration").count == 1)
  }

  @Test("a call outlives its timeout, or the timeout of one call bounds the next")
  func timeout() async throws {
    let tv = try await postern(["tv"]).pass()
    let code = try #require(try await tv.createSession().code)
    let (clock, service) = (clock, service)
    let waiting = Task { try await tv.profiles(.code(code, wait: .seconds(600)), timeout: .seconds(2)) }
    #expect(await eventually { clock.sleeperCount > 0 && service.questionCount == 1 })
    clock.advance(by: .seconds(6))
    let error = await #expect(throws: PassError.self) { try await waiting.value }
    #expect(error?.kind == .deadlineExceeded)
    #expect(try await tv.profiles(.mvpd("Cablevision"), timeout: .seconds(2)).state == .unauthenticated)
  }

  @Test("a call is by the configuration of the time when its value was made: catches a reload without effect")
  func reload() async throws {
    let file = "\(folder.path)/postern.json"
    func write(_ name: String) throws {
      let section: JSONObject = [name: provider("\(folder.path)/device-\(name)")]
      let text = JSONWriter().string(["preauthorization": .object(section)])
      try folder.write(text, to: "postern.json")
    }
    try write("tv")
    var options = Postern.Options()
    (options.transport, options.clock, options.environment) = (transport, clock, [:])
    options.storage = PosternEngine.SessionStorage(store)
    let postern = try await Postern(configuration: file, options: options)
    let tv = try postern.pass("tv")
    _ = try await tv.configuration()
    try write("video")
    try postern.reload()
    let error = await #expect(throws: PassError.self) { try await tv.configuration() }
    guard case .invalidParameter? = error?.kind else { throw Unexpected(error) }
    #expect(try await postern.pass("video").configuration().mvpds.count == 1)
  }
}

private struct Unexpected: Error {
  init(_ error: (any Error)?) { Issue.record("unexpected: \(String(describing: error))") }
}
