import AuthEngine
import EngineTestSupport
import HTTPMessages
import PosternJSON
import PosternSupport
import PosternTestSupport
import Testing

@testable import AdobePass
@testable import Entitlements

/// Adobe Pass as far as these tests go: answers each call by a script, and records the requests with their times.
final class PassServer: Sendable {
  /// Answers one request.
  typealias Answer = @Sendable (HTTPRequest) async throws(TransportError) -> HTTPResponse

  /// A request to the API, as in `GET profiles/code/C`.
  struct Call: Sendable {
    let name: String
    let request: HTTPRequest
    let options: TransferOptions
    let at: MonotonicInstant
  }

  /// A process: its state is lost with it, the store is not.
  struct Process: Sendable {
    let engine: DecisionEngine
    let point: DecisionPoint

    var state: AdobePassState { (point.provider as? AdobePassProvider)!.state }

    func client(uid: UInt32 = 1, within time: Duration? = nil) -> PassClient {
      let deadline = time.map { Deadline(in: $0, on: engine.clock) } ?? .never
      return PassClient(at: point, over: engine.preauthorizer, in: .uid(uid, by: deadline))!
    }
  }

  static let redirect = "https://app.test/back"
  let clock = ManualClock()
  let store: any RecordStore
  let registrations = Counter()
  let clientRequests = Locked<[HTTPRequest]>([])
  let tokens = Counter()
  let scopes = Locked<String?>(nil)
  let tokenAnswer = Locked<HTTPResponse?>(nil)
  private let scripts = Locked<[String: [Answer]]>([:])
  private let log = Locked<[Call]>([])

  init(store: any RecordStore = MemoryRecordStore()) { self.store = store }

  /// The time of the test's clock in milliseconds since the epoch, `seconds` from now.
  func time(_ seconds: Int64) -> Int64 { clock.wallNow.millisecondsSinceEpoch + seconds * 1000 }

  var calls: [Call] { log.withLock { $0 } }
  func calls(to name: String) -> [Call] { calls.filter { $0.name == name } }

  /// The next answers to `name`; the last one remains.
  func on(_ name: String, _ answers: HTTPResponse...) {
    let answers = answers.map { Self.script($0) }
    scripts.withLock { $0[name] = answers }
  }

  func on(_ name: String, _ answer: @escaping Answer) { scripts.withLock { $0[name] = [answer] } }

  /// The next answers, of which nil is none.
  func onReset(_ name: String, _ answers: HTTPResponse?...) {
    let answers = answers.map { Self.script($0) }
    scripts.withLock { $0[name] = answers }
  }

  private static func script(_ answer: HTTPResponse?) -> Answer {
    @Sendable func script(_ request: HTTPRequest) async throws(TransportError) -> HTTPResponse {
      guard let answer else { throw reset }
      return answer
    }
    return script
  }

  static let reset = TransportError(code: .protocolError, outcome: .sentNoReply, detail: "reset")

  /// A process on the store.
  func process(
    attempts: Int = 3, rateLimit: DecisionRateLimiter? = nil, mvpd: String? = nil, serviceProvider: String = "REF",
    deviceID: String = "device-1", change: (inout AdobePassLoginSettings) -> Void = { _ in }
  ) throws -> Process {
    var settings = DecisionPoint.Settings()
    settings.maxBatch = 5
    settings.attempts = attempts
    settings.rateLimit = rateLimit
    var provider = AdobePassProvider.Settings(
      baseURL: try HTTPURL("https://adobe.test"), serviceProvider: serviceProvider, mvpd: mvpd,
      softwareStatement: Secret("the-statement"),
      device: AdobePassDevice(identifier: Secret(deviceID), information: ["model": "Settop", "osName": "Linux"]))
    provider.login.redirectURLs = [Self.redirect]
    provider.login.domainNames = ["app.test"]
    change(&provider.login)
    let engine = DecisionEngine(clock: clock, store: store) { [self] request, options throws(TransportError) in
      try await answer(request, options)
    }
    let point = DecisionPoint(
      name: "pass", settings: settings, provider: try AdobePassProvider(provider, state: AdobePassState(clock: clock)))
    return Process(engine: engine, point: point)
  }

  private func answer(
    _ request: HTTPRequest, _ options: TransferOptions
  ) async throws(TransportError) -> HTTPResponse {
    if request.url.path.hasPrefix("/o/") { clientRequests.withLock { $0.append(request) } }
    switch request.url.path {
    case "/o/client/register":
      let number = registrations.next()
      let scopes = scopes.withLock { $0 }.map { #","scopes":\#($0)"# } ?? ""
      return .json(
        #"{"client_id":"client-\#(number)","client_secret":"hush-secret-\#(number)"\#(scopes)}"#, status: 201)
    case "/o/client/token":
      let number = tokens.next()
      if let answer = tokenAnswer.withLock({ $0 }) { return answer }
      return .json(
        #"{"access_token":"hush-token-\#(number)","created_at":\#(time(0)),"expires_in":21600,"token_type":"bearer"}"#,
        status: 201)
    default:
      let segments = request.url.path.split(separator: "/").dropFirst(3)
      let name = "\(request.method) \(segments.joined(separator: "/"))"
      log.withLock { $0.append(Call(name: name, request: request, options: options, at: clock.monotonicNow)) }
      let script = scripts.withLock { scripts -> Answer? in
        guard var answers = scripts[name], let first = answers.first else { return nil }
        if answers.count > 1 { answers.removeFirst() }
        scripts[name] = answers
        return first
      }
      guard let script else { return .status(404) }
      return try await script(request)
    }
  }

  /// Runs `body`, and moves the clock as soon as something sleeps for at most `longest`.
  func driven<Value: Sendable>(
    longest: Duration = .seconds(10), _ body: @escaping @Sendable () async throws -> Value
  ) async throws -> Value {
    let isDone = Locked(false)
    let task = Task {
      defer { isDone.withLock { $0 = true } }
      return try await body()
    }
    while !isDone.withLock({ $0 }) {
      if let first = clock.remainders.first, first <= longest { clock.advance(by: first) }
      await Task.yield()
    }
    return try await task.value
  }

  /// Waits until something sleeps for exactly so long.
  func sleeps(_ duration: Duration) async -> Bool {
    await eventually { self.clock.remainders.contains(duration) }
  }
}

extension HTTPResponse {
  /// Profiles `{mvpd: end in milliseconds}`, of `type`.
  static func profiles(_ ends: KeyValuePairs<String, Int64>, type: String = "regular", status: Int = 200)
    -> HTTPResponse
  {
    let rows = ends.map { mvpd, end in
      #""\#(mvpd)":{"notBefore":1,"notAfter":\#(end),"issuer":"\#(mvpd)","type":"\#(type)","attributes":{"userID":{"value":"hush-user","state":"plain"}}}"#
    }
    return .json(#"{"profiles":{\#(rows.joined(separator: ","))}}"#, status: status)
  }

  /// Decisions with media tokens that end at `end`.
  static func permits(_ resources: [String], until end: Int64) -> HTTPResponse {
    let rows = resources.map {
      #"{"resource":"\#($0)","authorized":true,"source":"mvpd","notBefore":1,"notAfter":\#(end),"token":{"notBefore":1,"notAfter":\#(end),"serializedToken":"hush-media"}}"#
    }
    return .json(#"{"decisions":[\#(rows.joined(separator: ","))]}"#)
  }

  static func session(_ name: String, _ type: String, _ members: String = "") -> HTTPResponse {
    .json(#"{"actionName":"\#(name)","actionType":"\#(type)"\#(members.isEmpty ? "" : ",")\#(members)}"#)
  }
}

/// Returns the error of `body`; nil where it has none.
func passError<Value>(_ body: () async throws -> Value) async -> PassError? {
  do {
    _ = try await body()
    return nil
  } catch {
    return error as? PassError
  }
}

extension HTTPRequest {
  /// The body as text.
  var text: String { String(decoding: body ?? [], as: UTF8.self) }
  /// The resources of a request for decisions.
  var resources: [String] {
    ((try? JSONParser().parse(body ?? []))?["resources"]?.arrayValue ?? []).compactMap(\.stringValue)
  }
}

/// A service token that is signed (by no key), and ends at `end` seconds after the epoch.
func serviceToken(alg: String = "RS256", exp: String? = "1900000000", signature: String = "c2ln") -> Secret<String> {
  func part(_ text: String) -> String { Base64URL.string(Array(text.utf8)) }
  let claims = exp.map { #"{"sub":"hush-sub","exp":\#($0)}"# } ?? #"{"sub":"hush-sub"}"#
  return Secret("\(part(#"{"alg":"\#(alg)"}"#)).\(part(claims)).\(signature)")
}
