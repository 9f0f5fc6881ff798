import AuthEngine
import HTTPMessages
import PosternJSON
import PosternKit
import PosternSupport
import PosternTestSupport
import Testing

/// Callbacks of device binding, WebAuthn and a program's own types, through a whole step.
@Suite("Callbacks that the engine does not have")
struct OwnCallbackTests {
  private struct NoNode: Error {}

  /// A type of a program's own.
  private struct ColourCallback: ReadableCallback {
    private(set) var callback: JourneyCallback

    init?(reading callback: JourneyCallback) {
      guard callback.type == "ColourCallback" else { return nil }
      self.callback = callback
    }

    mutating func setColour(_ name: String) { callback.fill(with: .string(name)) }
  }

  private let sent = Locked<[HTTPRequest]>([])

  /// The node of a step with those callbacks.
  private func node(_ callbacks: String) async throws -> JourneyNode {
    var options = Postern.Options()
    options.environment = [:]
    options.storage = PosternEngine.SessionStorage(MemoryRecordStore())
    options.transport = ScriptedTransport { [sent] request, _ throws(TransportError) in
      guard !request.url.path.contains("serverinfo") else {
        return HTTPResponse(
          status: 200, fields: ["Content-Type": "application/json"], body: Array(#"{"cookieName":"sso"}"#.utf8))
      }
      let count = sent.withLock { sent in
        sent.append(request)
        return sent.count
      }
      return HTTPResponse(
        status: count == 1 ? 200 : 401, fields: ["Content-Type": "application/json"],
        body: Array((count == 1 ? #"{"authId":"id","callbacks":[\#(callbacks)]}"# : "{}").utf8))
    }
    let postern = try await Postern(
      configuration: [
        "issuers": [
          "am": [
            "issuer": "https://idp.test", "clientId": "shop", "clientSecret": "s3cret",
            "redirectUri": "https://shop.test/back",
            "accessManager": ["baseUrl": "https://am.test/am", "realm": "alpha"],
          ]
        ]
      ], options: options)
    guard case .node(let node) = try await postern.journeys.authenticate(tree: "Login") else { throw NoNode() }
    return node
  }

  /// The values of all inputs that `node` sends.
  private func values(_ node: JourneyNode) async throws -> [String] {
    _ = try? await node.next()
    let body = try JSONParser().parse(sent.withLock { $0.last?.body } ?? [])
    let callbacks = body["callbacks"]?.arrayValue ?? []
    return callbacks.flatMap { $0["input"]?.arrayValue ?? [] }.map { $0["value"]?.stringValue ?? "" }
  }

  private static let binding =
    #"{"type":"DeviceBindingCallback","output":[{"name":"userId","value":"id=a"},{"name":"username","value":"a"},"#
    + #"{"name":"authenticationType","value":"NONE"},{"name":"challenge","value":"c="},{"name":"title","value":"t"},"#
    + #"{"name":"subtitle","value":"s"},{"name":"description","value":"d"},{"name":"timeout","value":60}],"#
    + #""input":[{"name":"IDToken1jws","value":""},{"name":"IDToken1deviceName","value":""},"#
    + #"{"name":"IDToken1deviceId","value":""},{"name":"IDToken1clientError","value":""}]}"#

  @Test("the binding of a device has no type, or its inputs are not sent")
  func binding() async throws {
    var node = try await node(Self.binding)
    let callback = try #require(node.first(DeviceBindingCallback.self))
    #expect(callback.userID == "id=a" && callback.username == "a" && callback.authenticationType == "NONE")
    #expect(callback.challenge == "c=" && callback.title == "t" && callback.subtitle == "s" && callback.prompt == "d")
    #expect(callback.timeout == .seconds(60) && node.first(DeviceSigningVerifierCallback.self) == nil)
    try node.fill(DeviceBindingCallback.self) { callback in
      callback.setJWS("a.b.c")
      callback.setDeviceName("desk")
      callback.setDeviceID("1")
    }
    #expect(try await values(node) == ["a.b.c", "desk", "1", ""])
  }

  @Test("a signature of the device has no type, or a failure is not reported")
  func signing() async throws {
    var node = try await node(
      #"{"type":"DeviceSigningVerifierCallback","output":[{"name":"userId","value":""},"#
        + #"{"name":"challenge","value":"c="}],"#
        + #""input":[{"name":"IDToken1jws","value":""},{"name":"IDToken1clientError","value":""}]}"#)
    let callback = try #require(node.first(DeviceSigningVerifierCallback.self))
    #expect(callback.userID == nil && callback.challenge == "c=" && callback.timeout == nil)
    try node.fill(DeviceSigningVerifierCallback.self) { $0.setClientError("Timeout") }
    #expect(try await values(node) == ["", "Timeout"])
  }

  private static func webAuthn(_ members: String) -> String {
    #"{"type":"MetadataCallback","output":[{"name":"data","value":{"_type":"WebAuthn","challenge":"c=",\#(members)}}]},"#
      + #"{"type":"HiddenValueCallback","output":[{"name":"value","value":"false"},"#
      + #"{"name":"id","value":"webAuthnOutcome"}],"#
      + #""input":[{"name":"IDToken2","value":"webAuthnOutcome"}]}"#
  }

  private static let outcomes: [(WebAuthnOutcome, String)] = [
    (
      .registered(
        clientDataJSON: Array("{}".utf8), attestationObject: [1, 255], credentialID: "id", deviceName: "desk"),
      "{}::1,-1::id::desk"
    ),
    (
      .authenticated(
        clientDataJSON: Array("{}".utf8), authenticatorData: [2], signature: [128], credentialID: "id"),
      "{}::2::-128::id"
    ),
    (.unsupported, "unsupported"), (.failed(name: "NotAllowedError", message: "no"), "ERROR::NotAllowedError:no"),
  ]

  @Test("the outcome of a WebAuthn ceremony is not sent as the access manager reads it", arguments: outcomes)
  func webAuthn(_ outcome: WebAuthnOutcome, _ text: String) async throws {
    var node = try await node(
      Self.webAuthn(
        #""_action":"webauthn_registration","_relyingPartyId":"shop.test","userName":"a","userId":"u","#
          + #""pubKeyCredParams":"[]","_pubKeyCredParams":[]"#))
    let callback = try #require(node.first(WebAuthnRegistrationCallback.self))
    #expect(callback.challenge == "c=" && callback.relyingPartyID == "shop.test" && callback.userName == "a")
    #expect(callback.userID == "u" && callback.option("pubKeyCredParams") == [])
    #expect(node.first(WebAuthnAuthenticationCallback.self) == nil)
    try node.setWebAuthnOutcome(outcome)
    #expect(try await values(node) == [text])
  }

  @Test("an access manager that does not name the ceremony has no type for it")
  func unnamed() async throws {
    let node = try await node(Self.webAuthn(#""allowCredentials":"""#))
    #expect(node.first(WebAuthnAuthenticationCallback.self) != nil)
    #expect(node.first(WebAuthnRegistrationCallback.self) == nil)
  }

  @Test("a program's own type is not found in a node, in a loop over its callbacks, or is not sent")
  func own() async throws {
    let colour = #"{"type":"ColourCallback","output":[],"input":[{"name":"IDToken1","value":""}]}"#
    var node = try await node(colour + "," + String(colour.map { $0 == "1" ? "2" : $0 }))
    #expect(node.callbacks.allSatisfy { $0 is JourneyCallback })
    try node.fill(ColourCallback.self) { $0.setColour("red") }
    node.read(as: [DeviceBindingCallback.self, ColourCallback.self])
    node.callbacks = node.callbacks.enumerated().map { index, callback in
      guard var own = callback as? ColourCallback, index == 1 else { return callback }
      own.setColour("blue")
      return own
    }
    let missing = #expect(throws: JourneyError.self) { try node.fill(DeviceBindingCallback.self) { _ in } }
    #expect(missing?.detail.contains("DeviceBindingCallback") == true)
    #expect(throws: JourneyError.self) { try node.setWebAuthnOutcome(.unsupported) }
    #expect(try await values(node) == ["red", "blue"])
  }
}
