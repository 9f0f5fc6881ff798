import AuthEngine
import PosternJSON
import PosternSupport
import Testing

/// Callbacks by their types: outputs as properties, and setters that write the right input and nothing else.
@Suite struct TypedCallbackTests {
  private static func callback(
    _ type: String, _ outputs: [(String, JSONValue)] = [], _ inputs: [String] = ["IDToken1"]
  ) throws -> JourneyCallback {
    try #require(
      JourneyCallback([
        "type": .string(type),
        "output": .array(outputs.map { ["name": .string($0.0), "value": $0.1] }),
        "input": .array(inputs.map { ["name": .string($0), "value": "initial"] }),
        "_id": 7,
      ]))
  }

  private static func typed<Callback: TypedCallback>(
    _ type: Callback.Type, _ outputs: [(String, JSONValue)] = [], _ inputs: [String] = ["IDToken1"]
  ) throws -> Callback {
    try #require(try callback("\(type)", outputs, inputs).typed as? Callback)
  }

  private static func inputs(of callback: any TypedCallback) -> [JSONValue?] {
    (callback.filled.json["input"]?.arrayValue ?? []).map { $0["value"] }
  }

  private static func isRejected(_ body: () throws(JourneyError) -> Void) -> Bool {
    do throws(JourneyError) {
      try body()
      return false
    } catch {
      if case .invalid = error.kind { return true }
      return false
    }
  }

  private static let inputNames: [String: [String]] = [
    "KbaCreateCallback": ["IDToken1question", "IDToken1answer"],
    "IdPCallback": ["IDToken1token", "IDToken1token_type"],
    "ReCaptchaEnterpriseCallback": ["IDToken1token", "IDToken1action", "IDToken1clientError"],
    "TextOutputCallback": [], "SuspendedTextOutputCallback": [], "PollingWaitCallback": [], "RedirectCallback": [],
    "MetadataCallback": [],
  ]

  @Test(
    "A type of the access manager stays raw, becomes another type, or is read although an input is missing",
    arguments: [
      "NameCallback", "PasswordCallback", "TextInputCallback", "HiddenValueCallback", "ChoiceCallback",
      "ConfirmationCallback", "TextOutputCallback", "SuspendedTextOutputCallback", "PollingWaitCallback",
      "RedirectCallback", "MetadataCallback", "ValidatedCreateUsernameCallback", "ValidatedCreatePasswordCallback",
      "StringAttributeInputCallback", "NumberAttributeInputCallback", "BooleanAttributeInputCallback",
      "KbaCreateCallback", "TermsAndConditionsCallback", "ConsentMappingCallback", "SelectIdPCallback", "IdPCallback",
      "DeviceProfileCallback", "ReCaptchaCallback", "ReCaptchaEnterpriseCallback",
    ])
  func types(name: String) throws {
    let names = Self.inputNames[name] ?? ["IDToken1"]
    let raw = try Self.callback(name, [("redirectUrl", "https://x.test/")], names)
    let typed = raw.typed
    #expect("\(Swift.type(of: typed))" == name && typed.type == name)
    #expect(typed.callback == raw && typed.filled == raw)
    guard let last = names.last, name != "ReCaptchaEnterpriseCallback" else { return }
    let incomplete = try Self.callback(name, [], names.filter { $0 != last })
    #expect(incomplete.typed is JourneyCallback)
  }

  @Test("An unknown type, or a redirect without a URL, is no longer the access manager's JSON")
  func unknown() throws {
    let raw = try Self.callback("DeviceBindingCallback", [("userId", "u")], ["IDToken1jws"])
    #expect(raw.typed as? JourneyCallback == raw)
    let redirect = try Self.callback("RedirectCallback", [], [])
    #expect(redirect.typed as? JourneyCallback == redirect)
  }

  @Test("A setter writes another input or another type of JSON, or changes anything else")
  func setters() throws {
    var name = try Self.typed(NameCallback.self, [("prompt", "User Name")])
    let before = name.callback
    name.setValue("demo")
    #expect(name.prompt == "User Name" && Self.inputs(of: name) == ["demo"])
    #expect(name.filled.json["output"] == before.json["output"] && name.filled.json["_id"] == 7)
    #expect(name.filled.json.objectValue?.names == before.json.objectValue?.names)
    var text = try Self.typed(TextInputCallback.self, [("prompt", "Code"), ("defaultText", "x")])
    text.setValue("1")
    #expect(text.prompt == "Code" && text.defaultText == "x" && Self.inputs(of: text) == ["1"])
    var hidden = try Self.typed(HiddenValueCallback.self, [("id", "webAuthnOutcome"), ("value", "")])
    hidden.setValue("{}")
    #expect(hidden.id == "webAuthnOutcome" && hidden.defaultValue == "" && Self.inputs(of: hidden) == ["{}"])
    var terms = try Self.typed(TermsAndConditionsCallback.self, [("terms", "All"), ("version", "1.0")])
    terms.setValue(true)
    #expect(terms.terms == "All" && terms.version == "1.0" && Self.inputs(of: terms) == [true])
    var consent = try Self.typed(
      ConsentMappingCallback.self, [("fields", ["mail"]), ("isRequired", true), ("message", "Share?")])
    consent.setValue(false)
    #expect(consent.fields == ["mail"] && consent.isRequired && Self.inputs(of: consent) == [false])
    var device = try Self.typed(DeviceProfileCallback.self, [("metadata", true), ("location", false)])
    device.setValue(["identifier": "d"])
    #expect(device.isMetadataRequired && !device.isLocationRequired)
    #expect(Self.inputs(of: device) == [.string(#"{"identifier":"d"}"#)])
    var captcha = try Self.typed(ReCaptchaCallback.self, [("recaptchaSiteKey", "k")])
    captcha.setValue("t")
    #expect(captcha.siteKey == "k" && Self.inputs(of: captcha) == ["t"])
    var enterprise = try Self.typed(
      ReCaptchaEnterpriseCallback.self, [], ["IDToken1token", "IDToken1action", "IDToken1clientError"])
    enterprise.setValue("t", action: "login")
    #expect(Self.inputs(of: enterprise) == ["t", "login", "initial"])
    enterprise.setClientError("none")
    #expect(Self.inputs(of: enterprise) == ["t", "login", "none"])
  }

  @Test("A choice that does not exist is sent, or a button's number is taken for its index")
  func choices() throws {
    var choice = try Self.typed(ChoiceCallback.self, [("choices", ["a", "b"]), ("defaultChoice", 1)])
    for index in [-1, 2, Int.max] { #expect(Self.isRejected { () throws(JourneyError) in try choice.setValue(index) }) }
    #expect(Self.isRejected { () throws(JourneyError) in try choice.setValue("c") })
    #expect(choice.defaultChoice == 1 && Self.inputs(of: choice) == ["initial"])
    try choice.setValue("b")
    #expect(Self.inputs(of: choice) == [1])
    try choice.setValue(0)
    #expect(Self.inputs(of: choice) == [0])

    var named = try Self.typed(
      ConfirmationCallback.self, [("options", ["Send", "Leave"]), ("optionType", -1), ("messageType", 1)])
    #expect(named.standardOptions.isEmpty && named.messageType == .warning)
    #expect(Self.isRejected { () throws(JourneyError) in try named.setValue(.ok) })
    #expect(Self.isRejected { () throws(JourneyError) in try named.setValue(2) })
    try named.setValue("Leave")
    #expect(Self.inputs(of: named) == [1])
    let standard: [(JSONValue, [ConfirmationCallback.Option])] = [
      (0, [.yes, .no]), (1, [.yes, .no, .cancel]), (2, [.ok, .cancel]), (-1, []),
    ]
    for (type, options) in standard {
      var unnamed = try Self.typed(ConfirmationCallback.self, [("options", []), ("optionType", type)])
      #expect(unnamed.standardOptions == options)
      #expect(Self.isRejected { () throws(JourneyError) in try unnamed.setValue(0) })
      for option in ConfirmationCallback.Option.allCases where !options.contains(option) {
        #expect(Self.isRejected { () throws(JourneyError) in try unnamed.setValue(option) })
      }
      if let last = options.last {
        try unnamed.setValue(last)
        #expect(Self.inputs(of: unnamed) == [.integer(Int64(last.rawValue))])
      }
    }

    var provider = try Self.typed(SelectIdPCallback.self, [("providers", [["provider": "google"]])])
    #expect(Self.isRejected { () throws(JourneyError) in try provider.setValue("other") })
    try provider.setValue("google")
    #expect(Self.inputs(of: provider) == ["google"])
  }

  @Test(
    "An attribute loses its policies, is only checked when it was to be saved, or takes a number JSON does not have")
  func attributes() throws {
    let outputs: [(String, JSONValue)] = [
      ("name", "mail"), ("prompt", "E-mail"), ("required", true), ("policies", [:]),
      ("failedPolicies", [#"{"policyRequirement":"UNIQUE"}"#]), ("value", "a@b.test"),
    ]
    let names = ["IDToken1", "IDToken1validateOnly"]
    var mail = try Self.typed(StringAttributeInputCallback.self, outputs, names)
    #expect(mail.name == "mail" && mail.prompt == "E-mail" && mail.isRequired && mail.policies == [:])
    #expect(mail.failedPolicies.map(\.requirement) == ["UNIQUE"] && mail.value == "a@b.test")
    mail.setValue("c@d.test")
    #expect(Self.inputs(of: mail) == ["c@d.test", "initial"])
    try mail.setValidateOnly(true)
    #expect(Self.inputs(of: mail) == ["c@d.test", true])
    var without = try Self.typed(ValidatedCreateUsernameCallback.self)
    #expect(Self.isRejected { () throws(JourneyError) in try without.setValidateOnly(true) })
    without.setValue("demo")
    #expect(Self.inputs(of: without) == ["demo"])

    var number = try Self.typed(NumberAttributeInputCallback.self, [("value", 1)], names)
    for value in [Double.infinity, -.infinity, .nan] {
      #expect(Self.isRejected { () throws(JourneyError) in try number.setValue(value) })
    }
    try number.setValue(42)
    #expect(number.value == 1 && Self.inputs(of: number) == [42, "initial"])
    try number.setValue(1.5)
    #expect(Self.inputs(of: number) == [.real(1.5), "initial"])
    var flag = try Self.typed(BooleanAttributeInputCallback.self, [("value", false)], names)
    flag.setValue(true)
    #expect(flag.value == false && Self.inputs(of: flag) == [true, "initial"])
  }

  @Test("A password, an answer or a token is printed, or does not arrive where it is sent")
  func secrets() throws {
    let secret = "hunter2-öäü"
    var password = try Self.typed(PasswordCallback.self, [("prompt", "Password")])
    password.setValue(Secret(secret))
    var created = try Self.typed(
      ValidatedCreatePasswordCallback.self, [("echoOn", true)], ["IDToken1", "IDToken1validateOnly"])
    created.setValue(secret)
    try created.setValidateOnly(false)
    var question = try Self.typed(
      KbaCreateCallback.self, [("predefinedQuestions", ["Pet?"])], ["IDToken1question", "IDToken1answer"])
    try question.setQuestion("Colour?")
    question.setAnswer(secret)
    var provider = try Self.typed(IdPCallback.self, [("provider", "g")], ["IDToken1token", "IDToken1token_type"])
    provider.setToken(Secret(secret), type: "id_token")
    var name = try Self.typed(NameCallback.self, [("prompt", "User Name")])
    name.setValue(secret)
    #expect(created.isEchoOn)
    #expect(Self.inputs(of: password) == [.string(secret)])
    #expect(Self.inputs(of: created) == [.string(secret), false])
    #expect(Self.inputs(of: question) == ["Colour?", .string(secret)])
    #expect(Self.inputs(of: provider) == [.string(secret), "id_token"])
    #expect(password.description == "PasswordCallback: Password" && provider.description == "IdPCallback")
    for callback: any TypedCallback in [password, created, question, provider, name, name.filled, password.filled] {
      var dumped = ""
      dump(callback, to: &dumped)
      for text in ["\(callback)", String(reflecting: callback), "\([callback])", dumped] {
        #expect(!text.contains("hunter2"), "\(callback.type)")
      }
    }
    for callback: any TypedCallback in [password, created, question, provider] {
      #expect(!"\(callback.callback.json)".contains("hunter2"), "\(callback.type)")
    }
  }

  @Test("A question of the user's own is sent where only the predefined ones are allowed")
  func questions() throws {
    let names = ["IDToken1question", "IDToken1answer"]
    var strict = try Self.typed(
      KbaCreateCallback.self, [("predefinedQuestions", ["Pet?"]), ("allowUserDefinedQuestions", false)], names)
    #expect(Self.isRejected { () throws(JourneyError) in try strict.setQuestion("Colour?") })
    try strict.setQuestion("Pet?")
    #expect(Self.inputs(of: strict) == ["Pet?", "initial"])
  }

  @Test("A message is lost, or a script is shown as one")
  func messages() throws {
    let text = try Self.typed(TextOutputCallback.self, [("message", "Hello"), ("messageType", "0")], [])
    #expect(text.message == "Hello" && text.messageType == .information && text.description.hasSuffix(": Hello"))
    let script = try Self.typed(TextOutputCallback.self, [("message", "run()"), ("messageType", "4")], [])
    #expect(script.messageType == .script && script.description == "TextOutputCallback")
    let wait = try Self.typed(PollingWaitCallback.self, [("message", "Wait"), ("waitTime", "5000")], [])
    #expect(wait.message == "Wait" && wait.waitTime == .seconds(5))
    let data = try Self.typed(MetadataCallback.self, [("data", ["_type": "WebAuthn"])], [])
    #expect(data.data == ["_type": "WebAuthn"])
    let redirect = try Self.typed(
      RedirectCallback.self,
      [("redirectUrl", "https://x.test/"), ("redirectMethod", "POST"), ("redirectData", ["a": "b"])], [])
    #expect(redirect.redirectURL == "https://x.test/" && redirect.redirectMethod == "POST")
    #expect(redirect.redirectData == ["a": "b"])
  }
}
