import AuthEngine
import HTTPMessages
import JOSE
import PosternSupport
import PosternTestSupport

/// An issuer's server whose answers a test changes, and a key-set store that asks it.
struct KeyServer: Sendable {
  struct State: Sendable {
    var jwks = HTTPResponse.keys([.first])
    var jwksURI = "https://idp.test/jwks"
    var issuer = "https://idp.test"
    var transportFailure: TransportError.Code?
    var metadataFails = false
    /// Held back one after the other: the first request passes the first gate.
    var gates: [Gate] = []
  }

  let clock = ManualClock()
  let state = Locked(State())
  let transport: ScriptedTransport
  let log = KeySetLog()
  let exchanges = RecordingObserver()
  let options = Locked<[TransferOptions]>([])
  let store: KeySetStore

  init() {
    let (state, options) = (state, options)
    transport = ScriptedTransport { request, transferOptions throws(TransportError) in
      if request.url.path.hasSuffix("openid-configuration") {
        return state.withLock { state in
          state.metadataFails
            ? .status(503) : .json(#"{"issuer":"\#(state.issuer)","jwks_uri":"\#(state.jwksURI)"}"#)
        }
      }
      if request.url.path.contains(".well-known") { return .status(404) }
      options.withLock { $0.append(transferOptions) }
      let (answer, failure, gate) = state.withLock { state in
        (state.jwks, state.transportFailure, state.gates.isEmpty ? nil : state.gates.removeFirst())
      }
      await gate?.pass()
      if let failure { throw TransportError(code: failure, outcome: .notSent, detail: "") }
      return answer
    }
    store = KeySetStore(
      transport: transport, clock: clock, observer: exchanges, userAgent: "postern/test",
      discovery: ProviderDiscovery(
        transport: transport, clock: clock, observer: SilentObserver(), userAgent: "postern/test"),
      keySetObserver: log)
  }

  /// The requests for key sets so far.
  var requests: [HTTPRequest] { transport.requests.filter { !$0.url.path.contains(".well-known") } }

  func source(_ policy: KeySetPolicy = KeySetPolicy()) throws -> RemoteJWKSet {
    store.source(for: try .testing(endpoints: [:]), policy: policy)
  }

  func answer(_ response: HTTPResponse) { state.withLock { $0.jwks = response } }

  /// The next request waits at the gate with the answer of the moment at which it came.
  func holdNext() -> Gate {
    let gate = Gate()
    state.withLock { $0.gates.append(gate) }
    return gate
  }
}

/// Remembers every event.
final class KeySetLog: KeySetObserver {
  private let log = Locked<[KeySetEvent]>([])

  func observe(_ event: KeySetEvent) { log.withLock { $0.append(event) } }

  var rotations: [(added: [String], removed: [String])] {
    log.withLock { log in
      log.compactMap { if case .rotated(_, let added, let removed) = $0 { (added, removed) } else { nil } }
    }
  }

  var failures: [(error: KeySetError, servesOlderSet: Bool)] {
    log.withLock { log in
      log.compactMap { if case .failed(_, let error, let serves) = $0 { (error, serves) } else { nil } }
    }
  }

  var loadCount: Int {
    log.withLock { log in log.count { if case .loaded = $0 { true } else { false } } }
  }
}

/// A published key as text.
struct PublishedKey: Sendable {
  let text: String

  /// RFC 8037 appendix A.2, with the thumbprint of A.3.
  static let first = PublishedKey(
    text: #"{"kty":"OKP","crv":"Ed25519","kid":"first","x":"11qYAYKxCrfVS_7TyWQHOg7hcvPapiMlrwIaaPcHURo"}"#)
  static let firstThumbprint = "kPrK_qmxVWaYVA9wwBF6Iuo3vVzz7TxHCTwXBygrS4k"
  /// RFC 7515 appendix A.3.
  static let second = PublishedKey(
    text: #"{"kty":"EC","crv":"P-256","kid":"second","x":"f83OJ3D2xF1Bg8vub9tLe1gHMzV76e8Tus9uPHvRVEU","#
      + #""y":"x_FEzRu9m36HLN_tue659LNpXW6pCyStikYjKIWI5a0"}"#)
  /// RFC 7517 appendix A.1.
  static let third = PublishedKey(
    text: #"{"kty":"EC","crv":"P-256","kid":"third","x":"MKBCTNIcKUSDii11ySs3526iDZ8AiTo7Tu6KPAqv7D4","#
      + #""y":"4Etl6SRW2YiLUrN5vfvVHuhp7x8PxltmWWlbbM4IFyM"}"#)
}

extension HTTPResponse {
  /// A key set with further fields.
  static func keys(_ keys: [PublishedKey], _ fields: (String, String)...) -> HTTPResponse {
    var response = json(#"{"keys":[\#(keys.map(\.text).joined(separator: ","))]}"#)
    for field in fields { response.fields[field.0] = field.1 }
    return response
  }
}

extension KeySetSnapshot {
  var keyIDs: [String] { keys.keys.compactMap(\.keyID) }
}

extension RemoteJWKSet {
  /// The `kid`s in force.
  func keyIDs() async throws(KeySetError) -> [String] { try await keySet(deadline: .never).keyIDs }

  /// Why there is no set.
  func failure() async -> KeySetError? {
    do throws(KeySetError) {
      _ = try await keySet(deadline: .never)
      return nil
    } catch {
      return error
    }
  }
}
