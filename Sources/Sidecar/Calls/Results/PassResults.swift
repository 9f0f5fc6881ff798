package import AuthEngine
package import PosternJSON
import PosternSupport

// The engine's values as the results of `pass.*`. A test decodes each strictly as the type of the method's result.

extension JSONObject {
  /// Sets a member where there is a value.
  fileprivate mutating func add(_ name: String, _ text: String?) {
    if let text { self[name] = .string(text) }
  }

  fileprivate mutating func add(_ name: String, _ instant: Timestamp?) { add(name, instant?.rfc3339) }
}

extension PassConfiguration {
  /// The result of `pass.getConfiguration`.
  package var json: JSONValue {
    var result: JSONObject = ["serviceProvider": .string(serviceProvider)]
    result.add("displayName", displayName)
    result["domains"] = .array(domains.map { ["name": .string($0.name), "mvpdInitiated": .bool($0.isMVPDInitiated)] })
    result["mvpds"] = .array(mvpds.map(\.json))
    result["cached"] = .bool(isCached)
    result.add("expiresAt", expiresAt)
    return .object(result)
  }
}

extension PassMVPD {
  fileprivate var json: JSONValue {
    var result: JSONObject = ["id": .string(id)]
    result.add("displayName", displayName)
    result.add("logoUrl", logoURL)
    result.add("boardingStatus", boardingStatus)
    result.add("platformMappingId", platformMappingID)
    for flag in Flag.allCases { result[flag.rawValue] = .bool(flags.contains(flag)) }
    return .object(result)
  }
}

extension PassSession {
  /// The result of `pass.createSession` and `pass.resumeSession`.
  package var json: JSONValue {
    var result: JSONObject = ["actionName": .string(actionName), "actionType": .string(actionType)]
    result.add("reasonType", reasonType)
    result.add("serviceProvider", serviceProvider)
    result.add("sessionId", sessionID)
    result.add("code", code)
    result.add("url", url)
    result.add("mvpd", mvpd)
    result["missingParameters"] = .array(missingParameters.map { .string($0) })
    if let request = authenticationRequest {
      result["authenticationRequest"] = [
        "type": .string(request.type), "request": .string(request.request),
        "attributesNames": .array(request.attributeNames.map { .string($0) }),
      ]
    }
    result.add("notBeforeAt", notBefore)
    result.add("expiresAt", expiresAt)
    return .object(result)
  }
}

extension PassSessionStatus {
  /// The result of `pass.getSession`.
  package var json: JSONValue {
    var result: JSONObject = ["code": .string(code)]
    result.add("serviceProvider", serviceProvider)
    result.add("mvpd", mvpd)
    result.add("domainName", domainName)
    result.add("redirectUrl", redirectURL)
    result["missingParameters"] = .array(missingParameters.map { .string($0) })
    result.add("authenticateUrl", authenticateURL)
    result.add("notBeforeAt", notBefore)
    result.add("expiresAt", expiresAt)
    if let device {
      var shown = JSONObject()
      shown.add("type", device.type)
      shown.add("model", device.model)
      shown.add("applicationId", device.applicationID)
      result["device"] = .object(shown)
    }
    return .object(result)
  }
}

extension PassProfiles {
  /// The result of `pass.listProfiles`.
  package var json: JSONValue {
    var result: JSONObject = ["state": .string(state.rawValue), "profiles": .array(profiles.map(\.json))]
    result.add("selected", selected)
    if let remembered {
      var shown: JSONObject = ["id": .string(remembered.id)]
      shown.add("displayName", remembered.displayName)
      shown.add("logoUrl", remembered.logoURL)
      result["remembered"] = .object(shown)
    }
    result["nextPollMs"] = nextPoll.map { .integer($0.wholeMillisecondsUp) }
    result["error"] = error?.json
    return .object(result)
  }
}

extension PassProfile {
  fileprivate var json: JSONValue {
    var result: JSONObject = ["mvpd": .string(mvpd), "type": .string(type), "issuer": .string(issuer)]
    result.add("notBeforeAt", notBefore)
    result.add("expiresAt", expiresAt)
    result["attributes"] = .object(attributes)
    return .object(result)
  }
}

extension PassDecisions {
  /// The result of `pass.authorize`, with its media tokens.
  package var json: JSONValue { ["mvpd": .string(mvpd), "decisions": .array(decisions.map(\.json))] }
}

extension PassDecision {
  fileprivate var json: JSONValue {
    var result: JSONObject = ["id": .string(id), "authorized": .bool(isAuthorized)]
    result.add("source", source)
    if isAuthorized, let token {
      var shown: JSONObject = ["serializedToken": .string(token.serialized.reveal())]
      shown.add("notBeforeAt", token.notBefore)
      shown.add("expiresAt", token.expiresAt)
      result["token"] = .object(shown)
    }
    result.add("notBeforeAt", notBefore)
    result.add("expiresAt", expiresAt)
    result["error"] = error?.json
    return .object(result)
  }
}

extension PassLogout {
  /// The result of `pass.logout`.
  package var json: JSONValue {
    var result: JSONObject = ["upstream": .string(upstream.rawValue)]
    result["logouts"] = .array(
      logouts.map { step in
        var shown: JSONObject = [
          "mvpd": .string(step.mvpd), "actionName": .string(step.actionName), "actionType": .string(step.actionType),
        ]
        shown.add("url", step.url)
        return .object(shown)
      })
    result["forgotten"] = .array(forgotten.map { .string($0) })
    result["error"] = error?.json
    return .object(result)
  }
}

extension Status {
  /// The status as `Preauthorize.Status` has it.
  package var json: JSONValue {
    var result: JSONObject = [
      "status": .integer(Int64(status)), "code": .string(code), "message": .string(message),
    ]
    result.add("details", details)
    result.add("helpUrl", helpURL)
    result.add("trace", trace)
    result.add("action", action)
    return .object(result)
  }
}
