import AuthEngine
import PosternJSON
import Testing

/// The access manager's callbacks by name: what they say, and where answers go.
@Suite struct JourneyCallbackTests {
  private static func callback(_ type: String, _ outputs: [(String, JSONValue)], _ inputs: [String] = [])
    -> JourneyCallback?
  {
    JourneyCallback([
      "type": .string(type),
      "output": .array(outputs.map { ["name": .string($0.0), "value": $0.1] }),
      "input": .array(inputs.map { ["name": .string($0), "value": ""] }),
    ])
  }

  @Test("An output is read from another member, in the wrong form, or missed where it is a string or a number")
  func outputs() throws {
    let choice = try #require(
      Self.callback(
        "ChoiceCallback", [("prompt", "How"), ("choices", ["a", "b"]), ("defaultChoice", 1)], ["IDToken1"]))
    #expect(choice.prompt == "How" && choice.choices == ["a", "b"] && choice.defaultChoice == 1)
    let confirmation = try #require(
      Self.callback(
        "ConfirmationCallback", [("messageType", 0), ("options", ["Yes", "No"]), ("defaultOption", 0)], ["IDToken2"]))
    #expect(confirmation.choices == ["Yes", "No"] && confirmation.defaultChoice == 0 && confirmation.messageType == 0)
    let script = try #require(
      Self.callback("TextOutputCallback", [("message", "run()"), ("messageType", "4")]))
    #expect(script.message == "run()" && script.messageType == 4 && script.inputNames.isEmpty)
    let redirect = try #require(Self.callback("RedirectCallback", [("redirectUrl", "https://x.test/")]))
    #expect(redirect.redirectURL == "https://x.test/" && script.redirectURL == nil)
    let terms = try #require(Self.callback("TermsAndConditionsCallback", [("terms", "All of them")], ["IDToken1"]))
    #expect(terms.terms == "All of them" && !terms.isRequired && terms.failedPolicies.isEmpty)
    let questions = try #require(
      Self.callback(
        "KbaCreateCallback", [("predefinedQuestions", ["Pet?", 1])], ["IDToken1question", "IDToken1answer"]))
    #expect(questions.predefinedQuestions == ["Pet?"])
    let providers = try #require(
      Self.callback("SelectIdPCallback", [("providers", [["provider": "g"], ["provider": "f"], "x"])], ["IDToken1"]))
    #expect(providers.providers == ["g", "f"])
  }

  @Test("A demand that an input failed is lost, whichever way it is written")
  func failedPolicies() throws {
    let attribute = try #require(
      Self.callback(
        "ValidatedCreatePasswordCallback",
        [
          ("name", "password"), ("required", true),
          (
            "failedPolicies",
            [
              #"{"policyRequirement":"MIN_LENGTH","params":{"minLength":8}}"#, #"{"policyRequirement":"UNIQUE"}"#,
              ["policyRequirement": "REQUIRED"], "not JSON", #"{"params":{}}"#, 7,
            ]
          ),
        ], ["IDToken1", "IDToken1validateOnly"]))
    #expect(attribute.name == "password" && attribute.isRequired)
    #expect(attribute.failedPolicies.map(\.requirement) == ["MIN_LENGTH", "UNIQUE", "REQUIRED"])
    #expect(attribute.failedPolicies.first?.params == ["minLength": 8])
  }

  @Test("An input is filled by a name it does not have, or the rest of the callback is touched")
  func filling() throws {
    var callback = try #require(
      Self.callback(
        "DeviceBindingCallback", [("userId", "u")], ["IDToken1jws", "IDToken1deviceName", "IDToken1clientError"]))
    #expect(callback.fill("IDToken1deviceName", with: "phone") && callback.fill(with: "jws"))
    let before = callback
    let isFilled = callback.fill("IDToken2", with: "x")
    #expect(!isFilled && callback == before)
    let values = callback.json["input"]?.arrayValue?.map { $0["value"]?.stringValue }
    #expect(values == ["jws", "phone", ""])
    #expect(callback.json["output"] == [["name": "userId", "value": "u"]])
    #expect(callback.json.objectValue?.names == ["type", "output", "input"])
    var text = try #require(Self.callback("TextOutputCallback", []))
    let isTextFilled = text.fill(with: "x")
    #expect(!isTextFilled)
    for nonsense: JSONValue in [[:], ["type": 1], [], "x", nil] { #expect(JourneyCallback(nonsense) == nil) }
  }
}
