import PlaygroundTestSupport
import PosternJSON
import PosternSupport
import Testing

@testable import Playground

/// The double of Adobe Pass: profiles, decisions to authorize, trials, rules of the operator, and logout.
@Suite struct AdobePassProfileTests {
  @Test("a profile belongs to device and application; tokens of one user share it, and log out of it together")
  func sharing() async throws {
    try await Upstream.run { upstream in
      let first = try await AdobePassApplication(upstream)
        .with("AD-Service-Token", AdobePassApplication.jws("u")).with(
          "Adobe-Subject-Token", AdobePassApplication.jws("p"))
      _ = try await first.logIn()
      let plain = try await AdobePassApplication(upstream).on(device: "b3RoZXI=")
      #expect(try await plain.types("profiles") == [:])
      let service = plain.with("AD-Service-Token", AdobePassApplication.jws("u"))
      #expect(try await service.types("profiles/Cablevision") == ["Cablevision": "serviceTokenSSO"])
      let platform = plain.with("Adobe-Subject-Token", AdobePassApplication.jws("p"))
      #expect(try await platform.types("profiles") == ["Cablevision": "platformSSO"])
      #expect(try await plain.with("AD-Service-Token", AdobePassApplication.jws("v")).types("profiles") == [:])
      let known = try await service.post("sessions", AdobePassApplication.login).json
      #expect(known["reasonType"] == "authenticatedSSO")
      #expect(try await plain.get("logout/Cablevision").json["logouts"]?["Cablevision"]?["actionName"] == "invalid")
      #expect(try await first.types("profiles").count == 1)
      let logout = try await service.get("logout/Cablevision?redirectUrl=https%3A%2F%2Fexample.com%2Fout").json
      let url = try #require(logout["logouts"]?["Cablevision"]?["url"]?.stringValue)
      #expect(try await upstream.send("GET", url)["location"] == ["https://example.com/out"])
      #expect(try await first.types("profiles") == [:])
    }
  }

  @Test("authorize needs a login, gives one-time tokens with their ends as numbers, and adds attributes")
  func authorize() async throws {
    try await Upstream.run { upstream in
      let device = try await AdobePassApplication(upstream)
      #expect(try await device.code("authorize/Cablevision", "news") == "authenticated_profile_missing")
      // Without the setting preauthorization goes by the names alone.
      #expect(try await device.code("preauthorize/Cablevision", "news") == nil)
      let code = try await device.logIn()
      let rows = try await device.decide("authorize/Cablevision", "news", "deny", "news")
      let now = upstream.clock.wallNow.millisecondsSinceEpoch
      #expect(rows[0]["token"]?["notAfter"] == .integer(now + 420_000) && rows[0]["notAfter"] != nil)
      #expect(rows[0]["token"]?["serializedToken"] != rows[2]["token"]?["serializedToken"])
      #expect(rows[1]["error"]?["code"] == "authorization_denied_by_mvpd" && rows[1]["token"] == nil)
      let attributes = try await device.get("profiles/code/\(code)").json["profiles"]?["Cablevision"]?["attributes"]
      #expect(attributes?["householdID"]?["state"] == "plain" && attributes?["encryptedZip"]?["state"] == "enc")
      let named = try await device.code("authorize/Cablevision", "code:maximum_execution_time_exceeded")
      #expect(named == "maximum_execution_time_exceeded")
      _ = try await upstream.control("adobe", #"{"invalidateProfiles":true,"needsProfile":true}"#)
      #expect(try await device.code("preauthorize/Cablevision", "news") == "authenticated_profile_invalidated")
    }
  }

  @Test("an expired login is gone from profiles, and decisions name it")
  func expiry() async throws {
    try await Upstream.run { upstream in
      let device = try await AdobePassApplication(upstream)
      _ = try await upstream.control("adobe", #"{"profileTtlSeconds":60}"#)
      _ = try await device.logIn()
      upstream.clock.advance(by: .seconds(60))
      #expect(try await device.types("profiles") == [:])
      #expect(try await device.code("authorize/Cablevision", "news") == "authenticated_profile_expired")
    }
  }

  @Test("a trial begins with the first decision, ends by the clock, and a promotional one by its titles")
  func trials() async throws {
    try await Upstream.run { upstream in
      let device = try await AdobePassApplication(upstream)
      let begun = try await device.post("sessions", [("mvpd", "TempPass_Basic")]).json
      #expect(begun["actionName"] == "authorize" && begun["reasonType"] == "temporary")
      #expect(try await device.decide("authorize/TempPass_Basic", "a").first?["source"] == "temppass")
      let profile = try await device.get("profiles/TempPass_Basic").json["profiles"]?["TempPass_Basic"]
      #expect(profile?["type"] == "temporary" && profile?["issuer"] == "Adobe")
      let missing = "invalid_header_identity_for_temporary_access"
      #expect(try await device.code("authorize/TempPass_Promo", "a") == missing)
      #expect(try await device.get("profiles/TempPass_Promo").json["code"] == .string(missing))
      let invited = device.with("AP-TempPass-Identity", Base64.string(Array(#"{"email":"x"}"#.utf8)))
      #expect(try await invited.code("authorize/TempPass_Promo", "a") == nil)
      #expect(try await invited.code("authorize/TempPass_Promo", "a") == nil)
      let used = "temporary_access_resources_limit_exceeded"
      #expect(try await invited.code("authorize/TempPass_Promo", "a") == used)
      // The identity is known on another device, too.
      #expect(try await invited.on(device: "b3RoZXI=").code("authorize/TempPass_Promo", "b") == used)
      let rejected = try await invited.get("profiles/TempPass_Promo")
      #expect(rejected.status == 403 && rejected.json["action"] == "authentication")
      upstream.clock.advance(by: .seconds(600))
      let ended = "temporary_access_duration_limit_exceeded"
      #expect(try await device.code("authorize/TempPass_Basic", "a") == ended)
      #expect(try await device.code("preauthorize/TempPass_Basic", "a") == ended)
      #expect(try await device.get("profiles/TempPass_Basic").status == 403)
    }
  }

  @Test("rules of the operator decide without a login, and end without a trace")
  func degradation() async throws {
    try await Upstream.run { upstream in
      let device = try await AdobePassApplication(upstream)
      for (rule, permits) in [("AuthNAll", true), ("AuthZAll", true), ("AuthZNone", false)] {
        _ = try await upstream.control("adobe", #"{"degradation":"\#(rule)"}"#)
        for call in ["authorize", "preauthorize"] {
          let row = try await device.decide("\(call)/Cablevision", "deny").first
          #expect(row?["source"] == "degradation" && row?["authorized"] == .bool(permits))
        }
        let session = try await device.post("sessions", AdobePassApplication.login).json
        #expect(session["reasonType"] == (rule == "AuthNAll" ? "degraded" : "none"))
        #expect(try await device.types("profiles/Cablevision").values.first == (rule == "AuthNAll" ? "degraded" : nil))
      }
      _ = try await upstream.control("adobe", #"{"degradation":null}"#)
      #expect(try await device.code("authorize/Cablevision", "a") == "authenticated_profile_missing")
    }
  }

  @Test("prepared answers are for their call alone, and spoil the right answer as they are named")
  func prepared() async throws {
    try await Upstream.run { upstream in
      let device = try await AdobePassApplication(upstream)
      _ = try await upstream.control(
        "adobe",
        """
        {"answers":[{"to":"E6","kind":"error","code":"too_many_resources","shape":"errors","times":2},
        {"to":"E2","kind":"change","set":{"url":"javascript:alert(1)"},"remove":["code"],
        "rename":{"missingParameters":"missing"},"timestamps":"numbers"},
        {"to":"E1","kind":"doubled"},{"to":"E1","kind":"deep"},{"to":"E1","kind":"tooLarge"},
        {"to":"E1","kind":"truncated"},{"to":"E1","kind":"throttled"}]}
        """)
      for _ in 0..<2 {
        let rejected = try await device.get("profiles")
        #expect(rejected.status == 403 && rejected.json["errors"]?.arrayValue?.first?["action"] == "configuration")
      }
      #expect(try await device.get("profiles").status == 200)
      let changed = try await device.post("sessions", []).json
      #expect(changed["url"] == "javascript:alert(1)" && changed["code"] == nil && changed["missing"] != nil)
      #expect(changed["notAfter"]?.integerValue != nil)
      #expect(try await device.get("configuration").text.hasPrefix(#"{"double":1,"double":2,"#))
      let deep = try await device.get("configuration").text
      #expect(throws: JSONParseError.self) { try JSONParser(maxDepth: 64).parse(deep) }
      #expect(try JSONParser(maxDepth: 300).parse(deep)["requestor"] != nil)
      #expect(try await device.get("configuration").text.utf8.count > 1 << 20)
      let cut = try await device.get("configuration").text
      #expect(throws: JSONParseError.self) { try JSONParser().parse(cut) }
      #expect(try await device.get("configuration").status == 429)
      #expect(try await device.get("configuration").status == 200)
      let body = Array(#"{"answers":[{"to":"E99","kind":"error"}]}"#.utf8)
      #expect(try await upstream.send("POST", "/playground/adobe", body: body).status == 400)
    }
  }

  @Test("registration, tokens and the page have prepared answers, too")
  func preparedOthers() async throws {
    try await Upstream.run { upstream in
      _ = try await upstream.control("adobe", #"{"answers":[{"to":"register","kind":"empty","status":503}]}"#)
      let fields = [("X-Device-Info", AdobePassApplication.information), ("Content-Type", "application/json")]
      let body = Array(#"{"software_statement":"e30.e30.e30"}"#.utf8)
      let failed = try await upstream.send("POST", "/adobe/o/client/register", fields, body: body)
      #expect(failed.status == 503 && failed.body.isEmpty)
      let change = #"{"answers":[{"to":"register","kind":"change","set":{"scopes":[]}}]}"#
      _ = try await upstream.control("adobe", change)
      let changed = try await upstream.send("POST", "/adobe/o/client/register", fields, body: body)
      #expect(changed.status == 201 && changed.json["scopes"] == [] && changed.json["client_id"] != nil)
      _ = try await upstream.control(
        "adobe", #"{"answers":[{"to":"E5","kind":"error","code":"internal_server_error"}]}"#)
      let page = try await upstream.send("GET", "/adobe/api/v2/authenticate/REF30/ABCDEFG")
      #expect(page.status == 500 && page.text.contains("internal_server_error") && page.text.contains("<html"))
    }
  }

  @Test("going back to the start forgets logins, codes and settings, but no registration")
  func reset() async throws {
    try await Upstream.run { upstream in
      let device = try await AdobePassApplication(upstream)
      let code = try await device.logIn()
      _ = try await upstream.send("DELETE", "/playground/adobe")
      #expect(try await device.types("profiles") == [:])
      #expect(try await device.get("sessions/\(code)").json["code"] == "invalid_parameter_code")
      #expect(try await upstream.send("GET", "/playground/adobe").json["throttle"] == true)
    }
  }

  @Test("an answer can get lost after everything was done")
  func lost() async throws {
    try await Upstream.run { upstream in
      let device = try await AdobePassApplication(upstream)
      for kind in ["lost", "hangUp", "reset"] {
        _ = try await upstream.control("adobe", #"{"answers":[{"to":"E2","kind":"\#(kind)"}]}"#)
        #expect(try await device.unanswered("sessions"), "\(kind)")
        let sessions = try await upstream.send("GET", "/playground/adobe").json["sessions"]?.arrayValue
        #expect(sessions?.count == 1, "\(kind): only the first was carried out")
      }
    }
  }

  @Test("the log counts calls by number, and shows forms and headers, of credentials only digests")
  func log() async throws {
    try await Upstream.run { upstream in
      let device = try await AdobePassApplication(upstream).with("AP-Visitor-Identifier", "visitor")
      _ = try await device.post("sessions", AdobePassApplication.login)
      let shown = try await upstream.send("GET", "/playground/adobe")
      #expect(shown.json["counts"]?["E2"] == 1 && shown.json["counts"]?["token"] == 1)
      let request = try #require(shown.json["requests"]?.arrayValue?.last)
      #expect(request["form"]?["redirectUrl"] == "https://example.com/done?a=1&b=2" && request["call"] == "E2")
      #expect(request["headers"]?["ap-visitor-identifier"] == "visitor")
      #expect(request["headers"]?["authorization"]?.stringValue?.hasPrefix("Bearer sha256:") == true)
      #expect(!shown.text.contains(device.token))
    }
  }
}
