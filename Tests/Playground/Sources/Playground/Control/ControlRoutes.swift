/// The switches under `/playground`.
enum ControlRoutes {
  /// The routes that work on `parts`.
  static func routes(_ parts: ProviderParts) -> [Route] {
    let faults = FaultsEndpoint(faults: parts.faults, tokens: parts.accessTokens, families: parts.families)
    let nonces = NonceRotationEndpoint(nonces: [parts.providerDPoP.nonces, parts.resourceDPoP.nonces])
    return [
      Route(["GET", "DELETE"], "/playground/statistics", StatisticsEndpoint(statistics: parts.statistics)),
      Route(["GET", "POST", "DELETE"], "/playground/faults", faults),
      Route(["GET", "POST", "DELETE"], "/playground/settings", SettingsEndpoint(settings: parts.settings)),
      Route(["POST"], "/playground/rotateKeys", KeyRotationEndpoint(keys: parts.keys)),
      Route(["POST"], "/playground/rotateNonces", nonces),
      Route(["GET", "POST", "DELETE"], "/playground/login", NextLoginEndpoint(nextLogins: parts.nextLogins)),
      Route(["POST"], "/playground/device", DeviceDecisionEndpoint(codes: parts.deviceCodes, desk: parts.desk)),
      Route(["GET", "DELETE"], "/playground/families", FamiliesEndpoint(families: parts.families)),
      Route(["POST"], "/playground/logoutToken", LogoutTokenEndpoint(parts: parts)),
      Route(
        ["GET", "POST", "DELETE"], "/playground/payloadEncryption", PayloadEncryptionEndpoint(settings: parts.payloads)),
      Route(["GET"], "/playground/clientKey", ClientKeyEndpoint(key: parts.clientKey)),
    ]
  }
}
