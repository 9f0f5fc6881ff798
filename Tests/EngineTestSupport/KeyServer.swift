package import AuthEngine
package import HTTPMessages
import JOSE
package import PosternSupport
package import PosternTestSupport

/// An issuer's server whose answers a test changes, and a key set store that fetches from it.
package struct KeyServer: Sendable {
  package struct State: Sendable {
    package var jwks = HTTPResponse.keys([.first])
    package var jwksURI = "https://idp.test/jwks"
    package var issuer = "https://idp.test"
    package var transportFailure: TransportError.Code?
    package var metadataFails = false
    /// The gates of the next requests: the first request waits at the first gate.
    package var gates: [Gate] = []
  }

  package let clock = ManualClock()
  package let state = Locked(State())
  package let transport: ScriptedTransport
  package let log = KeySetLog()
  package let exchanges = RecordingObserver()
  package let options = Locked<[TransferOptions]>([])
  package let store: KeySetStore

  package init() {
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
      .testing(transport, clock: clock, observer: exchanges),
      discovery: ProviderDiscovery(.testing(transport, clock: clock)),
      keySetObserver: log)
  }

  /// The requests for key sets so far.
  package var requests: [HTTPRequest] { transport.requests.filter { !$0.url.path.contains(".well-known") } }

  package func source(_ policy: KeySetPolicy = KeySetPolicy()) throws -> RemoteJWKSet {
    store.source(for: try .testing(endpoints: [:]), policy: policy)
  }

  package func answer(_ response: HTTPResponse) { state.withLock { $0.jwks = response } }

  /// The next request waits at the gate with the answer of the moment at which it came.
  package func blockNext() -> Gate {
    let gate = Gate()
    state.withLock { $0.gates.append(gate) }
    return gate
  }
}

/// Records every event.
package final class KeySetLog: KeySetObserver {
  private let log = Locked<[KeySetEvent]>([])

  package init() {}

  package func observe(_ event: KeySetEvent, in scope: CallScope) { log.withLock { $0.append(event) } }

  package var rotations: [(added: [String], removed: [String])] {
    log.withLock { log in
      log.compactMap { if case .rotated(_, let added, let removed) = $0 { (added, removed) } else { nil } }
    }
  }

  package var failures: [(error: KeySetError, servesOlderSet: Bool)] {
    log.withLock { log in
      log.compactMap { if case .failed(_, let error, let serves) = $0 { (error, serves) } else { nil } }
    }
  }

  package var loadCount: Int {
    log.withLock { log in log.count { if case .loaded = $0 { true } else { false } } }
  }
}

/// A published key as text.
package struct PublishedKey: Sendable {
  package let text: String

  package init(text: String) { self.text = text }

  /// RFC 8037 appendix A.2, with the thumbprint of A.3.
  package static let first = PublishedKey(
    text: #"{"kty":"OKP","crv":"Ed25519","kid":"first","x":"11qYAYKxCrfVS_7TyWQHOg7hcvPapiMlrwIaaPcHURo"}"#)
  package static let firstThumbprint = "kPrK_qmxVWaYVA9wwBF6Iuo3vVzz7TxHCTwXBygrS4k"
  /// RFC 7515 appendix A.3.
  package static let second = PublishedKey(
    text: #"{"kty":"EC","crv":"P-256","kid":"second","x":"f83OJ3D2xF1Bg8vub9tLe1gHMzV76e8Tus9uPHvRVEU","#
      + #""y":"x_FEzRu9m36HLN_tue659LNpXW6pCyStikYjKIWI5a0"}"#)
  /// RFC 7517 appendix A.1.
  package static let third = PublishedKey(
    text: #"{"kty":"EC","crv":"P-256","kid":"third","x":"MKBCTNIcKUSDii11ySs3526iDZ8AiTo7Tu6KPAqv7D4","#
      + #""y":"4Etl6SRW2YiLUrN5vfvVHuhp7x8PxltmWWlbbM4IFyM"}"#)
}

extension HTTPResponse {
  /// A key set with further fields.
  package static func keys(_ keys: [PublishedKey], _ fields: (String, String)...) -> HTTPResponse {
    var response = json(#"{"keys":[\#(keys.map(\.text).joined(separator: ","))]}"#)
    for field in fields { response.fields[field.0] = field.1 }
    return response
  }
}

extension KeySetSnapshot {
  package var keyIDs: [String] { keys.keys.compactMap(\.keyID) }
}

extension RemoteJWKSet {
  /// The `kid`s in force.
  package func keyIDs() async throws(KeySetError) -> [String] { try await keySet(in: CallScope()).keyIDs }

  /// Why there is no set.
  package func failure(in scope: CallScope = CallScope()) async -> KeySetError? {
    do throws(KeySetError) {
      _ = try await keySet(in: scope)
      return nil
    } catch {
      return error
    }
  }
}
