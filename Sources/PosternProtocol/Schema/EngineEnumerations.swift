public import AuthEngine

// The engine's enumerations whose cases are the words of the wire.

extension AdviceFinding.Source: SchemaEnumeration {}
extension Decision.Source: SchemaEnumeration {}
extension NetworkTask.State: SchemaEnumeration {}
extension PassPlatformToken.Platform: SchemaEnumeration {}
extension PassProfiles.State: SchemaEnumeration {}
extension PreauthorizeRequest.Feature: SchemaEnumeration {}
extension PreauthorizeResponse.Outcome: SchemaEnumeration {}
extension RequestRequirements.ProofRule: SchemaEnumeration {}
extension SessionKind: SchemaEnumeration {}
extension TokenType: SchemaEnumeration {}
extension UpstreamEnd: SchemaEnumeration {}
